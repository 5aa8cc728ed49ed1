import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { driverName } from "../../src/core/names.ts";
import { pluginDir, sourcesDir } from "../../src/node/domain/target-path.ts";
import {
  chartDirectory,
  containerOf,
  containersOf,
  only,
  ownContainersOf,
  releaseNamespace,
  render,
  type VolumeMount,
  version,
} from "./rendered-chart.ts";

describe("values", () => {
  it.for([0, 3])("controller.replicas=%d", (replicas) => {
    expect(only(render({ "controller.replicas": String(replicas) }), "Deployment")["spec"].replicas).toBe(replicas);
  });

  it.for(["/var/lib/kubelet", "/var/snap/microk8s/common/var/lib/kubelet", "/var/lib/k0s/kubelet/"])(
    "node.kubeletPath=%s: every host path follows, and no source is kept by a private copy",
    (kubeletPath) => {
      const daemonSet = only(render({ "node.kubeletPath": kubeletPath }), "DaemonSet");
      const { volumes, containers } = daemonSet["spec"].template.spec;
      const hostPaths: Record<string, string> = Object.fromEntries(
        volumes.map((volume: { name: string; hostPath: { path: string } }) => [volume.name, volume.hostPath.path]),
      );
      const root = kubeletPath.replace(/\/$/, "");
      expect(hostPaths).toEqual({
        "kubelet-dir": kubeletPath,
        "plugin-dir": pluginDir(kubeletPath),
        "registration-dir": `${root}/plugins_registry`,
        "host-proc": "/proc",
      });
      const mounts = containers.flatMap((one: { volumeMounts: VolumeMount[] }) => one.volumeMounts) as VolumeMount[];
      const withSources = mounts.filter(({ name }) => sourcesDir(root).startsWith(hostPaths[name] ?? "?"));
      expect(withSources.map(({ name }) => name)).toEqual(["kubelet-dir", "plugin-dir"]);
      for (const mount of withSources) expect(["Bidirectional", "HostToContainer"]).toContain(mount.mountPropagation);
      // kubelet names targets by its own paths: they must mean the same inside.
      expect(mounts[0]).toEqual({ name: "kubelet-dir", mountPath: kubeletPath, mountPropagation: "Bidirectional" });
    },
  );

  it.for([
    [{}, undefined, "private"],
    [{ "node.hostPID": "true" }, true, "private"],
    [{ "node.mountPidNamespace": "host" }, true, "host"],
  ] as const)("%j → hostPID %s, mounts from %s", ([values, hostPID, namespace]) => {
    const { spec } = only(render(values), "DaemonSet")["spec"].template;
    expect(spec.hostPID).toBe(hostPID);
    expect(spec.containers[0].args).toContain(`--mount-pid-namespace=${namespace}`);
    expect(spec.containers[0].args.includes("--host-pid")).toBe(hostPID === true);
  });

  it.for([
    [{}, `v${version}`],
    [{ "image.tag": "edge" }, "edge"],
    [{ "image.tag": "v2.2.0" }, `v${version}`],
    [{ "image.tag": "1.2.0" }, `v${version}`],
    [{ "image.tag": "v3.0.1" }, "v3.0.1"],
  ] as const)("%j → image tag %s everywhere", ([values, tag]) => {
    const chart = render({ ...values, "image.containerRegistry": "mirror/", "image.repository": "s3" });
    expect(new Set(ownContainersOf(chart).map(({ image }) => image))).toEqual(new Set([`mirror/s3:${tag}`]));
  });

  it("image.containerRegistry is in front of every image of every Pod, that of csi-provisioner, too", () => {
    const images = containersOf(render({ "image.containerRegistry": "mirror.example.com/" })).map(({ image }) => image);
    expect(images).toHaveLength(4);
    for (const image of images) expect(image).toMatch(/^mirror\.example\.com\/ghcr\.io\//);
  });

  it("a repository chosen for csi-provisioner is used as it is, as in 2.x", () => {
    const chosen = { "sidecars.csiProvisioner.image.repository": "other.example.com/csi-provisioner" };
    const chart = render({ "image.containerRegistry": "mirror.example.com/", ...chosen });
    expect(containerOf(chart, "csi-provisioner").image).toBe("other.example.com/csi-provisioner:v5.3.0");
  });

  it("of the legacy names below node win", () => {
    const chart = render({ "node.s3EndpointUrl": "https://old", "node.s3Region": "old-1" });
    const { env } = containerOf(chart, "s3-plugin");
    expect(env).toContainEqual({ name: "AWS_ENDPOINT_URL", value: "https://old" });
    expect(env).toContainEqual({ name: "AWS_REGION", value: "old-1" });
  });

  it("move Mountpoint Pods with all that belongs to them", () => {
    const chart = render({ "mountpointPod.namespace": "mounts", "mountpointPod.priorityClassName": "mine" });
    expect(JSON.stringify(chart)).not.toMatch(/"mount-s3"|mount-s3-critical/);
    expect(only(chart, "Namespace").metadata).toMatchObject({ name: "mounts", labels: { name: "mounts" } });
  });

  it("name another Secret in the flags and in the rights", () => {
    const chart = render({ "s3CredentialSecret.name": "keys", "s3CredentialSecret.accessKeyId": "id" });
    const { args } = containerOf(chart, "s3-plugin");
    expect(args).toContain(`--credentials-secret=${releaseNamespace}/keys`);
    expect(args).toContain("--access-key-id-field=id");
    expect(only(chart, "Role", "s3-csi-driver-node-credentials-role")["rules"][0].resourceNames).toEqual(["keys"]);
  });

  const startup = { key: `${driverName}/agent-not-ready`, operator: "Exists" };
  const defaults = [
    { key: "CriticalAddonsOnly", operator: "Exists" },
    startup,
    { operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
  ];
  const own = { "node.tolerations[0].key": "gpu", "node.tolerations[0].operator": "Exists" };
  it.for([
    [{}, defaults],
    [own, [...defaults, { key: "gpu", operator: "Exists" }]],
    [{ "node.tolerateAllTaints": "true" }, [{ operator: "Exists" }]],
    [{ "node.defaultTolerations": "false" }, undefined],
    [{ "node.defaultTolerations": "false", ...own }, [{ key: "gpu", operator: "Exists" }]],
  ] as const)("%j → tolerations %j", ([values, tolerations]) => {
    expect(only(render(values), "DaemonSet")["spec"].template.spec.tolerations).toEqual(tolerations);
  });

  it("reach the Pods: selectors, affinity, resources, pull secrets, labels, volumes", () => {
    const chart = render({
      "imagePullSecrets[0]": "pull",
      "customLabels.team": "storage",
      "node.nodeSelector.disk": "fast",
      "node.volumes[0].name": "extra",
      "controller.nodeSelector.role": "infra",
      "controller.resources.requests.cpu": "5m",
      "controller.tolerations[0].operator": "Exists",
    });
    const node = only(chart, "DaemonSet")["spec"].template;
    const controller = only(chart, "Deployment")["spec"].template;
    for (const template of [node, controller]) {
      expect(template.spec.imagePullSecrets).toEqual([{ name: "pull" }]);
      expect(template.metadata.labels.team).toBe("storage");
    }
    expect(node.spec.nodeSelector).toEqual({ "kubernetes.io/os": "linux", disk: "fast" });
    expect(node.spec.volumes).toContainEqual({ name: "extra" });
    expect(controller.spec.nodeSelector).toEqual({ "kubernetes.io/os": "linux", role: "infra" });
    expect(controller.spec.containers[0].resources).toEqual({ requests: { cpu: "5m", memory: "64Mi" } });
    expect(controller.spec.tolerations).toEqual([{ operator: "Exists" }]);
  });

  it.for([
    { "node.kubeletPath": "relative" },
    { "s3.endpointUrl": "s3.example.com" },
    { "imagePullSecrets[0].name": "an-object" },
    { "image.pullPolicy": "Sometimes" },
    { "node.tolerateAllTaints": "perhaps" },
    { "mountpointPod.namespace": "Not_A_Name" },
  ])("%j is refused before anything is installed", (values) => {
    expect(() => render(values)).toThrow(/values don't meet the specifications/);
  });

  it("are all known to the schema", () => {
    const schema = JSON.parse(readFileSync(join(chartDirectory, "values.schema.json"), "utf8")) as Schema;
    const values = parse(readFileSync(join(chartDirectory, "values.yaml"), "utf8")) as Values;
    for (const [name, value] of Object.entries(values)) {
      expect(Object.keys(schema.properties)).toContain(name);
      const known = Object.keys(schema.properties[name]?.properties ?? value);
      expect(known).toEqual(expect.arrayContaining(Object.keys(value)));
    }
  });
});

type Values = Readonly<Record<string, object>>;

interface Schema {
  readonly properties: Readonly<Record<string, { readonly properties?: object }>>;
}
