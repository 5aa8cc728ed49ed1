/** What makes a fresh namespace set a Kubernetes node: its mounts, interface, cgroups and the configuration files. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ComponentSpec } from "./component.ts";
import type { Programs } from "./control-plane.ts";
import { type Layout, type NodeAddress, network } from "./layout.ts";

export function nodeDirectory(layout: Layout, node: NodeAddress): string {
  return join(layout.state, "nodes", node.name);
}

/** Directories of the machine that a node must have for itself, and where they are kept. */
const privateDirectories = ({ kubeletRoot }: NodeAddress) => ({
  [kubeletRoot]: "kubelet",
  "/var/lib/containerd": "containerd",
  "/var/lib/cni": "cni",
  "/var/log/pods": "pod-logs",
  "/var/log/containers": "container-logs",
  "/etc/cni/net.d": "cni-config",
});

/** Written before the first boot; survives power loss like a disk. */
export async function writeNodeFiles(layout: Layout, node: NodeAddress): Promise<void> {
  const directory = nodeDirectory(layout, node);
  const kept = Object.values(privateDirectories(node)).map((name) => mkdir(join(directory, name), { recursive: true }));
  await Promise.all(kept);
  await writeFile(join(directory, "containerd.toml"), containerdConfig);
  await writeFile(join(directory, "kubelet.json"), JSON.stringify(kubeletConfig(layout, node), null, 2));
  await writeFile(join(directory, "cni-config", "10-lab.conflist"), JSON.stringify(cniConfig(node), null, 2));
}

/**
 * Run inside the new namespaces. Mounts must propagate from here on: on the plain machine `/` is private, and with that
 * kubelet, plugin and containers would each see mounts of their own.
 */
export function bootScript(layout: Layout, node: NodeAddress): string {
  const directory = nodeDirectory(layout, node);
  const binds = Object.entries(privateDirectories(node)).map(
    ([path, name]) => `mkdir -p ${path}; mount --bind ${join(directory, name)} ${path}; mount --make-rshared ${path}`,
  );
  const cgroup = `${layout.cgroups}${node.name}`;
  return [
    "set -eu",
    "mount --make-rshared /",
    "mount -t tmpfs -o mode=755 run /run; mount --make-rshared /run",
    ...binds,
    `hostname ${node.name}`,
    "ip link set lo up",
    `ip addr add ${node.address}/24 dev eth0; ip link set eth0 up; ip route add default via ${network.hub}`,
    "echo 1 >/proc/sys/net/ipv4/ip_forward",
    // Version 1 hierarchies give a new group no processors and no memory nodes until told.
    `for c in /sys/fs/cgroup/*/; do [ "$c" = /sys/fs/cgroup/unified/ ] || mkdir -p "$c"${cgroup}; done`,
    `for f in cpuset.cpus cpuset.mems; do cat /sys/fs/cgroup/cpuset/$f >/sys/fs/cgroup/cpuset/${cgroup}/$f; done`,
  ].join("\n");
}

export function nodeComponents(layout: Layout, node: NodeAddress, { kubernetes }: Programs): readonly ComponentSpec[] {
  const directory = nodeDirectory(layout, node);
  const kubeconfig = join(layout.pki, `${node.name}.kubeconfig`);
  return [
    { name: `${node.name}/containerd`, argv: ["containerd", "--config", join(directory, "containerd.toml")] },
    {
      name: `${node.name}/kubelet`,
      argv: [
        join(kubernetes, "kubelet"),
        `--config=${join(directory, "kubelet.json")}`,
        `--root-dir=${node.kubeletRoot}`,
        `--kubeconfig=${kubeconfig}`,
        `--hostname-override=${node.name}`,
        `--node-ip=${node.address}`,
      ],
    },
    {
      name: `${node.name}/kube-proxy`,
      argv: [
        join(kubernetes, "kube-proxy"),
        `--kubeconfig=${join(layout.pki, "proxy.kubeconfig")}`,
        `--hostname-override=${node.name}`,
        "--proxy-mode=iptables",
        "--conntrack-max-per-core=0",
        `--cluster-cidr=${network.pods}`,
      ],
    },
  ];
}

export const pauseImage = "lab.local/pause:1";

/** No CAP_SYS_RESOURCE here, so containers may not ask for a lower OOM score than ours. */
const containerdConfig = `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "${pauseImage}"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "/etc/cni/net.d"
`;

function cniConfig(node: NodeAddress): unknown {
  return {
    cniVersion: "0.4.0",
    name: "lab",
    plugins: [
      {
        type: "bridge",
        bridge: "cni0",
        isGateway: true,
        hairpinMode: true,
        ipam: { type: "host-local", ranges: [[{ subnet: node.podRange }]], routes: [{ dst: "0.0.0.0/0" }] },
      },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  };
}

function kubeletConfig(layout: Layout, node: NodeAddress): unknown {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${layout.cgroups}${node.name}`,
    failCgroupV1: false,
    failSwapOn: false,
    oomScoreAdj: 0,
    authentication: { x509: { clientCAFile: join(layout.pki, "ca.crt") }, webhook: { enabled: true } },
    authorization: { mode: "Webhook" },
    tlsCertFile: join(layout.pki, `${node.name}.crt`),
    tlsPrivateKeyFile: join(layout.pki, `${node.name}.key`),
    resolvConf: "",
    volumePluginDir: `${node.kubeletRoot}/volume-plugins`,
    // So that kubelet tells what drivers say about the condition of volumes, and soon: a minute is its default.
    featureGates: { CSIVolumeHealth: true },
    volumeStatsAggPeriod: "10s",
    // The lab shares the machine's disk: how full that is says nothing about a node, and images come from no registry.
    evictionHard: { "memory.available": "100Mi", "nodefs.available": "0%", "imagefs.available": "0%" },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
  };
}
