/** Whether mounts can be moved on a node, and what a further Pod finds there. Pure. */
import { type ContainerResources, effectiveResources } from "../../core/volume/container-resources.ts";
import { parseQuantity } from "../../core/volume/quantity.ts";
import type { MountpointPodConfig } from "../domain/mountpoint-pod/mountpoint-pod.ts";
import type { S3Volume } from "../domain/persistent-volume.ts";

export interface NodeFacts {
  readonly lookedAt: Date;
  /**
   * kernel: it cannot replace a mount without a gap. notReady: its kubelet does not report, it is gone, or closed to
   * Mountpoint Pods.
   */
  readonly obstacle: "kernel" | "notReady" | undefined;
  /** undefined: not known. */
  readonly free: Room | undefined;
}

/** Pods, cores and bytes. */
export interface Room {
  readonly pods: number;
  readonly cpu: number;
  readonly memory: number;
}

/** The fields of a Node object that `factsFrom` looks at. */
export interface NodeObject {
  readonly spec?: { readonly unschedulable?: boolean; readonly taints?: readonly Taint[] };
  readonly status?: {
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly nodeInfo?: { readonly kernelVersion?: string };
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** The fields of a Pod object that `requestsOf` looks at. */
export interface PodOnNode {
  readonly spec: {
    readonly containers?: readonly ContainerOnNode[];
    readonly initContainers?: readonly (ContainerOnNode & { readonly restartPolicy?: string })[];
    readonly overhead?: Readonly<Record<string, string>>;
  };
  readonly status?: { readonly phase?: string };
}

interface ContainerOnNode {
  readonly resources?: Partial<ContainerResources>;
}

/** undefined for the Node: it is gone. */
export function obstacleOf(node: NodeObject | undefined, tolerations: readonly object[]): NodeFacts["obstacle"] {
  const { conditions = [], nodeInfo } = node?.status ?? {};
  const isReady = conditions.some(({ type, status }) => type === "Ready" && status === "True");
  if (node === undefined || !isReady || !isOpenTo(tolerations, node)) return "notReady";
  return isTooOld(nodeInfo?.kernelVersion ?? "") ? "kernel" : undefined;
}

/** As the scheduler: it treats a node that is cordoned as one with this taint, also before the taint is set. */
function isOpenTo(tolerations: readonly Toleration[], { spec = {} }: NodeObject): boolean {
  const cordon = spec.unschedulable === true ? [cordoned] : [];
  const repelling = [...(spec.taints ?? []), ...cordon].filter(({ effect }) => effect !== "PreferNoSchedule");
  return repelling.every((taint) => tolerations.some((toleration) => tolerates(toleration, taint)));
}

const cordoned: Taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

/** Without a key every taint with the effect, and without an effect every one. A kind of comparison that is not known is tried. */
function tolerates({ key, operator = "Equal", value = "", effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (!key) return operator === "Exists";
  return key === taint.key && (operator !== "Equal" || value === (taint.value ?? ""));
}

interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

/** MOVE_MOUNT_BENEATH exists since Linux 6.5. A version that cannot be read is tried. */
function isTooOld(kernel: string): boolean {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(kernel) ?? [];
  if (major === undefined) return false;
  return Number(major) < 6 || (Number(major) === 6 && Number(minor) < 5);
}

/** undefined: not known. */
export function freeRoom({ status }: NodeObject, pods: readonly PodOnNode[]): Room | undefined {
  const allocatable = status?.allocatable;
  if (allocatable === undefined) return undefined;
  const amount = (resource: string) => parseQuantity(allocatable[resource] ?? "") ?? 0;
  const used = pods.filter(isRunning).map(requestsOf);
  const left = (of: keyof Room) => amount(of) - used.reduce((sum, each) => sum + each[of], 0);
  return { pods: left("pods"), cpu: left("cpu"), memory: left("memory") };
}

function isRunning({ status }: PodOnNode): boolean {
  return status?.phase !== "Succeeded" && status?.phase !== "Failed";
}

/** As the scheduler counts. A container with a limit and without a request has its limit as its request. */
export function requestsOf({ spec }: PodOnNode): Room {
  const { containers = [], initContainers = [], overhead = {} } = spec;
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === "Always");
  const request = (resource: "cpu" | "memory") => {
    const initial = initContainers.map((each) => requestOf(each, resource));
    const running = sumOf(resource, [...containers, ...sidecars]);
    return Math.max(running, ...initial) + (parseQuantity(overhead[resource] ?? "") ?? 0);
  };
  return { pods: 1, cpu: request("cpu"), memory: request("memory") };
}

function sumOf(resource: string, containers: readonly ContainerOnNode[]): number {
  return containers.reduce((total, each) => total + requestOf(each, resource), 0);
}

function requestOf({ resources }: ContainerOnNode, resource: string): number {
  return parseQuantity(resources?.requests?.[resource] ?? resources?.limits?.[resource] ?? "") ?? 0;
}

/** What a Mountpoint Pod of this volume needs. */
export function needsOf(
  { resources, ca }: Pick<MountpointPodConfig, "resources" | "ca">,
  { attributes }: Pick<S3Volume, "attributes">,
): Room {
  const initContainers = ca === undefined ? [] : [{ resources: ca.resources }];
  return requestsOf({
    spec: { containers: [{ resources: effectiveResources(resources, attributes.resources) }], initContainers },
  });
}

/** Sums of decimal fractions differ in their last digits. */
const tolerance = 1e-6;

export function fits(needed: Room, free: Room | undefined): boolean {
  if (free === undefined) return true;
  return (["pods", "cpu", "memory"] as const).every((of) => needed[of] <= free[of] + tolerance);
}
