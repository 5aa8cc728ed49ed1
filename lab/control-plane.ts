/** Command lines of the programs that run in the hub: control plane, S3 server, and relays to the outside. */
import { join } from "node:path";
import { auditLogFile, auditPolicyFile } from "./audit.ts";
import type { ComponentSpec } from "./component.ts";
import { type Layout, network } from "./layout.ts";
import { rootAccount } from "./s3.ts";

/** Directory with the built programs. */
export interface Programs {
  readonly kubernetes: string;
  /** Not a part of the lab itself; tests run it without the driver. */
  readonly mountS3?: string;
}

export function controlPlane(layout: Layout, { kubernetes }: Programs): readonly ComponentSpec[] {
  const program = (name: string) => join(kubernetes, name);
  return [
    { name: "etcd", argv: [program("etcd"), ...etcdFlags(layout)] },
    { name: "kube-apiserver", argv: [program("kube-apiserver"), ...apiServerFlags(layout)] },
    {
      name: "kube-controller-manager",
      afterApi: true,
      argv: [
        program("kube-controller-manager"),
        `--kubeconfig=${join(layout.pki, "controller-manager.kubeconfig")}`,
        `--service-account-private-key-file=${join(layout.pki, "sa.key")}`,
        `--root-ca-file=${join(layout.pki, "ca.crt")}`,
        "--use-service-account-credentials",
        "--leader-elect=false",
      ],
    },
    {
      name: "kube-scheduler",
      afterApi: true,
      argv: [
        program("kube-scheduler"),
        `--kubeconfig=${join(layout.pki, "scheduler.kubeconfig")}`,
        "--leader-elect=false",
      ],
    },
  ];
}

export function objectStore(layout: Layout, { kubernetes }: Programs): readonly ComponentSpec[] {
  const data = join(layout.state, "s3");
  return [
    relay("s3-relay", layout.s3Socket, network.s3Port),
    {
      name: "versitygw",
      argv: [
        ...["env", `ROOT_ACCESS_KEY=${rootAccount.accessKeyId}`, `ROOT_SECRET_KEY=${rootAccount.secretAccessKey}`],
        ...[join(kubernetes, "versitygw"), "--port", `:${network.s3Port}`, "--iam-dir", join(data, "iam")],
        // Buckets keep versions only if they are told to.
        ...["posix", "--versioning-dir", join(data, "versions"), join(data, "buckets")],
      ],
    },
  ];
}

/** A Unix socket is reachable from outside the lab's network; it is the only door, and packets do not pass it. */
export function relay(name: string, socket: string, port: number): ComponentSpec {
  return { name, argv: ["socat", `UNIX-LISTEN:${socket},fork,unlink-early,mode=600`, `TCP:127.0.0.1:${port}`] };
}

function etcdFlags(layout: Layout): readonly string[] {
  return [
    `--data-dir=${join(layout.state, "etcd")}`,
    // A cluster of a hundred thousand Pods, which a bench makes, needs more than the usual 2 GiB.
    "--quota-backend-bytes=8589934592",
    "--listen-client-urls=http://127.0.0.1:2379",
    "--advertise-client-urls=http://127.0.0.1:2379",
    "--listen-peer-urls=http://127.0.0.1:2380",
    "--initial-advertise-peer-urls=http://127.0.0.1:2380",
    "--initial-cluster=default=http://127.0.0.1:2380",
    "--unsafe-no-fsync",
  ];
}

function apiServerFlags(layout: Layout): readonly string[] {
  const pki = (name: string) => join(layout.pki, name);
  return [
    "--etcd-servers=http://127.0.0.1:2379",
    `--advertise-address=${network.hub}`,
    `--secure-port=${network.apiPort}`,
    `--service-cluster-ip-range=${network.services}`,
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    "--allow-privileged=true",
    `--client-ca-file=${pki("ca.crt")}`,
    `--tls-cert-file=${pki("apiserver.crt")}`,
    `--tls-private-key-file=${pki("apiserver.key")}`,
    "--kubelet-preferred-address-types=InternalIP",
    `--kubelet-certificate-authority=${pki("ca.crt")}`,
    `--kubelet-client-certificate=${pki("apiserver-kubelet-client.crt")}`,
    `--kubelet-client-key=${pki("apiserver-kubelet-client.key")}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${pki("sa.key")}`,
    `--service-account-signing-key-file=${pki("sa.key")}`,
    `--audit-policy-file=${auditPolicyFile(layout)}`,
    `--audit-log-path=${auditLogFile(layout)}`,
  ];
}
