/**
 * What controller and node say about an attachment, in `kubectl describe s3pa` and to each other. Each writes fields of its
 * own by server-side apply: the server merges them, removes what a writer no longer says, and neither needs to read first.
 */

import type { PodName } from "./names.ts";

/** Who owns which field, as the API server remembers it. */
export const statusManagers = { controller: "s3-pod-reconciler", node: "s3-csi-node" } as const;

export interface AttachmentStatus {
  readonly conditions?: readonly StatusCondition[];
  /** By name of the Mountpoint Pod; exactly those that the spec lists. */
  readonly mountpointPods?: Readonly<Record<string, MountpointPodStatus>>;
}

export interface StatusCondition {
  readonly type: ControllerCondition | NodeCondition;
  readonly status: "True" | "False" | "Unknown";
  /** One word in CamelCase, for machines. */
  readonly reason: string;
  /** Cause and remedy, for people. */
  readonly message: string;
  /** RFC 3339: since when `status` is what it is. */
  readonly lastTransitionTime: string;
}

/** Assigned: every workload has a Mountpoint Pod that is there. Scheduled: every Mountpoint Pod has its place on the node. */
export type ControllerCondition = "Assigned" | "Scheduled";

/** Mounted: every Mountpoint Pod serves its source. Healthy: every source answers. */
export type NodeCondition = "Mounted" | "Healthy";

export type MountpointPodStatus = ControllerView & NodeView;

/** What the controller knows of a Mountpoint Pod. */
export interface ControllerView {
  /** Of the driver that made it. */
  readonly version?: string;
  /** Of the Pod; Missing: there is none. */
  readonly phase?: "Pending" | "Running" | "Succeeded" | "Failed" | "Missing";
  /** How often its container was started again. */
  readonly restarts?: number;
  /** Why it does not serve, or will not for long; absent while there is nothing to say. */
  readonly reason?: string;
  /** How far it is on its way to the settings with which it would be created now; absent where it has them. */
  readonly rollout?: "outdated" | "moving" | "failed" | "skipped";
}

/** What the node knows of its mount. */
export interface NodeView {
  readonly health?: SourceCondition;
  /** RFC 3339. */
  readonly lastDeath?: string;
  /** How often it was healed. */
  readonly heals?: number;
  /**
   * Whether workloads have bind mounts of its source, or one is being connected. Absent until the node has seen the
   * needs-unmount annotation: from then on nobody else is connected, so false stays false.
   */
  readonly inUse?: boolean;
}

/** What the controller needs to know of a source before it deletes the Mountpoint Pod, or moves workloads to it. */
export type ReportedSource = Pick<NodeView, "inUse" | "health">;

/**
 * starting: mounted, and mount-s3 has not answered yet. absent: not mounted. hung: it does not answer. stuck: it has lost
 * its mount and does not end.
 */
export type SourceCondition = "absent" | "starting" | "serving" | "dead" | "hung" | "stuck";

/** Since now, or, if the status of a condition of this type has not changed, since then. */
export function conditionSince(
  before: AttachmentStatus | undefined,
  now: Date,
  { type, status, reason, message }: Omit<StatusCondition, "lastTransitionTime">,
): StatusCondition {
  const former = before?.conditions?.find((condition) => condition.type === type);
  const unchanged = former?.status === status;
  // Whole seconds, as Kubernetes writes times.
  const lastTransitionTime = unchanged ? former.lastTransitionTime : `${now.toISOString().slice(0, 19)}Z`;
  return { type, status, reason, message: message.slice(0, messageLimit), lastTransitionTime };
}

/** The fields of one writer, whatever the other says. */
export function controllerPart(status: AttachmentStatus | undefined): AttachmentStatus {
  return partOf(status, controllerConditions, ({ version, phase, restarts, reason, rollout }) =>
    present({ version, phase, restarts, reason, rollout }),
  );
}

export function nodePart(status: AttachmentStatus | undefined): AttachmentStatus {
  return partOf(status, nodeConditions, ({ health, lastDeath, heals, inUse }) =>
    present({ health, lastDeath, heals, inUse }),
  );
}

/** What the node asks the controller to replace, because nothing on the node can. */
export function stuckIn(status: AttachmentStatus | undefined): readonly PodName[] {
  const all = Object.entries(status?.mountpointPods ?? {});
  return all.flatMap(([name, { health }]) => (health === "stuck" ? [name as PodName] : []));
}

/** The sources that the node reports on; none where the node plugin is one of 2.x, or may not write. */
export function sourcesIn(status: AttachmentStatus | undefined): Readonly<Record<string, ReportedSource>> {
  const all = Object.entries(status?.mountpointPods ?? {});
  const reported = all.filter(([, { health }]) => health !== undefined);
  return Object.fromEntries(reported.map(([name, { inUse, health }]) => [name, present({ inUse, health })]));
}

/** Which Mountpoint Pod has no place on the node and why, in the words of the controller; undefined: none that it knows of. */
export function unplacedIn(status: AttachmentStatus | undefined): string | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === "Scheduled");
  return scheduled?.status === "False" ? scheduled.message : undefined;
}

/** Whether writing it would change anything; the order of conditions and Mountpoint Pods says nothing. */
export function isSameStatus(a: AttachmentStatus, b: AttachmentStatus): boolean {
  return hasSameConditions(a.conditions ?? [], b.conditions ?? []) && hasSamePods(a.mountpointPods, b.mountpointPods);
}

/** The schema allows more; nobody reads more. */
const messageLimit = 1024;

const controllerConditions: readonly string[] = ["Assigned", "Scheduled"] satisfies readonly ControllerCondition[];
const nodeConditions: readonly string[] = ["Mounted", "Healthy"] satisfies readonly NodeCondition[];

function partOf(
  { conditions = [], mountpointPods = {} }: AttachmentStatus = {},
  types: readonly string[],
  fieldsOf: (pod: MountpointPodStatus) => MountpointPodStatus,
): AttachmentStatus {
  const pods = Object.entries(mountpointPods).map(([name, pod]) => [name, fieldsOf(pod)] as const);
  return {
    conditions: conditions.filter(({ type }) => types.includes(type)),
    // One of which only the other writer says something is none of ours.
    mountpointPods: Object.fromEntries(pods.filter(([, pod]) => Object.keys(pod).length > 0)),
  };
}

function present(fields: { readonly [Field in keyof MountpointPodStatus]: MountpointPodStatus[Field] | undefined }) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as MountpointPodStatus;
}

/** Without making texts to compare: a sweep compares the status of every attachment (SC-5). The API server keeps one condition of each type. */
function hasSameConditions(a: readonly StatusCondition[], b: readonly StatusCondition[]): boolean {
  if (a.length !== b.length) return false;
  return a.every((condition) => {
    const other = b.find(({ type }) => type === condition.type);
    return other !== undefined && hasSameFields(fieldsOf(condition), fieldsOf(other), Object.is);
  });
}

function hasSamePods(a: AttachmentStatus["mountpointPods"] = {}, b: AttachmentStatus["mountpointPods"] = {}): boolean {
  return hasSameFields(a, b, (pod, other) => hasSameFields(fieldsOf(pod), fieldsOf(other), Object.is));
}

type Fields<Value> = Readonly<Record<string, Value>>;

const fieldsOf = (plain: StatusCondition | MountpointPodStatus) => plain as Fields<unknown>;

function hasSameFields<Value>(a: Fields<Value>, b: Fields<Value>, isSame: (a: Value, b: Value) => boolean): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && isSame(a[name] as Value, b[name] as Value));
}
