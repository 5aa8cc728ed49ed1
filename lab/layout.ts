/** Where a lab keeps its files and which addresses it uses; a pure function of its name. */
import { join } from "node:path";

export interface Layout {
  readonly name: string;
  /** Everything the lab writes; removed with it. */
  readonly state: string;
  /** Prefix of the names of its cgroups. */
  readonly cgroups: string;
  readonly logs: string;
  readonly pki: string;
  readonly kubeconfig: string;
  readonly s3Socket: string;
  /** The same for MinIO, in labs that have it. */
  readonly minioSocket: string;
}

const home = "/var/lib/s3-csi-lab";

export const labsDirectory = home;

export function layoutOf(name: string): Layout {
  const state = join(home, name);
  return {
    name,
    state,
    cgroups: `s3-csi-lab-${name}.`,
    logs: join(state, "logs"),
    pki: join(state, "pki"),
    kubeconfig: join(state, "kubeconfig"),
    s3Socket: join(state, "s3.sock"),
    minioSocket: join(state, "minio.sock"),
  };
}

/** Labs never meet on a wire, so all of them use the same addresses. */
export const network = {
  hub: "10.77.0.1",
  apiPort: 6443,
  s3Port: 7070,
  minioPort: 9000,
  prometheusPort: 9090,
  services: "10.96.0.0/16",
  pods: "10.244.0.0/16",
} as const;

export interface NodeAddress {
  readonly name: string;
  readonly index: number;
  readonly address: string;
  readonly podRange: string;
  /** Of its kubelet; distributions have theirs elsewhere. */
  readonly kubeletRoot: string;
}

export const defaultKubeletRoot = "/var/lib/kubelet";

export function nodeAddress(index: number, kubeletRoot = defaultKubeletRoot): NodeAddress {
  return {
    kubeletRoot,
    name: `worker-${index}`,
    index,
    address: `10.77.0.${10 + index}`,
    podRange: `10.244.${index}.0/24`,
  };
}
