/** What we read from a Mountpoint Pod, whichever driver made it. */
import {
  annotations,
  isMountpointPodName,
  isWarmPodName,
  labels,
  mountpointContainer,
  type NodeName,
  type PodName,
  type PodUid,
  type PvName,
  type VolumeId,
} from "./names.ts";

export interface MountpointPod {
  readonly name: PodName;
  readonly uid: PodUid;
  readonly resourceVersion: string;
  /** Where it may run; it need not be scheduled yet. */
  readonly node: NodeName;
  readonly persistentVolume: PvName;
  /** Absent on Pods of 2.x, and so is the identity. */
  readonly volumeId: VolumeId | undefined;
  readonly identity: string | undefined;
  /** The workload that made us need it; others may share it. */
  readonly createdFor: PodUid;
  readonly createdAt: Date;
  readonly driverVersion: string;
  /**
   * pending: kubelet has not reported that the Mountpoint container has started. A Pod whose Mountpoint container has started is running,
   * also while the API says Pending because of another container, such as an injected one whose image is missing.
   */
  readonly phase: "pending" | "running" | "succeeded" | "failed";
  readonly terminating: boolean;
  readonly needsUnmount: boolean;
  /** undefined: not known, or not to be unmounted. */
  readonly needsUnmountSince: Date | undefined;
  readonly noNewWorkload: boolean;
  /** Of the volume: every target is read-only. */
  readonly readOnly: boolean;
  readonly move: MoveNotes;
  /** A hash of the settings with which it was created; undefined: an earlier driver created it. */
  readonly settings: string | undefined;
}

/** A Mountpoint Pod that was created without a volume, until the reconciler has written on it whose volume it serves. */
export interface WaitingPod extends Omit<MountpointPod, "persistentVolume" | "createdFor" | "volumeId" | "identity"> {
  /** A hash of all that it was created with; `settings` leaves out what matters only for the start of a container. */
  readonly warmSettings: string;
}

/** The annotations about moves of workloads from one Mountpoint Pod to another; each is undefined where it is missing. */
export interface MoveNotes {
  /** The Mountpoint Pod whose workloads move to this one. */
  readonly replaces: PodName | undefined;
  readonly requested: string | undefined;
  /** The requests that have failed. */
  readonly failed: readonly string[];
  readonly fulfils: string | undefined;
  /** The Mountpoint Pod to which its workloads have moved. */
  readonly to: PodName | undefined;
}

export const noMove: MoveNotes = {
  replaces: undefined,
  requested: undefined,
  failed: [],
  fulfils: undefined,
  to: undefined,
};

/** The fields of a Pod object that `mountpointPodFrom` looks at. */
export interface MountpointPodObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly affinity?: {
      readonly nodeAffinity?: {
        readonly requiredDuringSchedulingIgnoredDuringExecution?: { readonly nodeSelectorTerms?: readonly NodeTerm[] };
      };
    };
  };
  readonly status?: { readonly phase?: string; readonly containerStatuses?: readonly ContainerStatus[] };
}

interface ContainerStatus {
  readonly name: string;
  readonly state?: { readonly running?: object; readonly terminated?: object };
  readonly lastState?: { readonly terminated?: object };
}

interface NodeTerm {
  readonly matchFields?: readonly { readonly key: string; readonly values?: readonly string[] }[];
}

/** undefined for a Pod that no driver made, although it lives in the namespace of Mountpoint Pods (SE-1). */
export function mountpointPodFrom(pod: MountpointPodObject): MountpointPod | undefined {
  const purpose = purposeOf(pod);
  const state = stateOf(pod);
  if (state === undefined || purpose === undefined) return undefined;
  const { annotations: notes = {} } = pod.metadata;
  return {
    ...state,
    ...purpose,
    volumeId: notes[annotations.volumeId] as VolumeId | undefined,
    identity: notes[annotations.identity],
  };
}

/** undefined for a Pod that is no Mountpoint Pod, or one that has a volume. */
export function waitingPodFrom(pod: MountpointPodObject): WaitingPod | undefined {
  const { labels: marks = {}, annotations: notes = {}, name } = pod.metadata;
  if (!isWarmPodName(name) || marks[labels.warm] !== "waiting") return undefined;
  const state = stateOf(pod);
  return state && { ...state, warmSettings: notes[annotations.warmSettings] ?? "" };
}

function stateOf(pod: MountpointPodObject): Omit<WaitingPod, "warmSettings"> | undefined {
  const { metadata, status, spec } = pod;
  const notes = metadata.annotations ?? {};
  const driverVersion = metadata.labels?.[labels.driverVersion];
  const node = (spec.nodeName ?? chosenNode(spec)) as NodeName | undefined;
  if (!isMountpointPodName(metadata.name) || !driverVersion || !node) return undefined;
  return {
    name: metadata.name,
    uid: metadata.uid as PodUid,
    resourceVersion: metadata.resourceVersion,
    node,
    driverVersion,
    createdAt: new Date(metadata.creationTimestamp),
    phase: phaseOf(status ?? {}),
    terminating: metadata.deletionTimestamp !== undefined,
    needsUnmount: notes[annotations.needsUnmount] === "true",
    needsUnmountSince: dateIn(notes[annotations.needsUnmountSince]),
    noNewWorkload: notes[annotations.noNewWorkload] === "true",
    readOnly: notes[annotations.readOnly] === "true",
    move: moveNotesIn(notes),
    settings: notes[annotations.settings],
  };
}

/** On one line: `move-failed` has a request on each line, and a block of YAML ends with a line break. undefined: there is none. */
export function moveRequestIn(notes: Readonly<Record<string, string>> = {}): string | undefined {
  return (notes[annotations.move] ?? "").trim().replaceAll(/\s+/g, " ") || undefined;
}

function moveNotesIn(notes: Readonly<Record<string, string>>): MoveNotes {
  const podIn = (name: string) => [notes[name] ?? ""].find(isMountpointPodName);
  // An empty value is what remains of a request that was taken back with a tool that cannot remove annotations.
  const given = (name: string) => notes[name] || undefined;
  const found = {
    replaces: podIn(annotations.replaces),
    requested: moveRequestIn(notes),
    failed: given(annotations.moveFailed)?.split("\n") ?? noMove.failed,
    fulfils: given(annotations.fulfilsMove),
    to: podIn(annotations.movedTo),
  };
  // Almost no Pod has one: they share an object.
  return Object.values(found).every((value) => value === undefined || value === noMove.failed) ? noMove : found;
}

function dateIn(text: string | undefined): Date | undefined {
  const date = new Date(text ?? "");
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** A Mountpoint Pod starts its container again when it fails, so only a final phase is the end, whatever its code (LC-13). */
export function isAlive({ phase }: Pick<MountpointPod, "phase">): boolean {
  return phase === "pending" || phase === "running";
}

/** What a workload needs of a Mountpoint Pod. */
export interface NeededVolume {
  readonly volumeId: VolumeId;
  readonly identity: string;
  readonly readOnly: boolean;
}

/** Whether a workload that comes now may be served by it, unless something is wrong with it (contract 1.5). */
export function isOpen(pod: MountpointPod, volume: NeededVolume, driverVersion: string): boolean {
  const staying = isAlive(pod) && !pod.terminating && !pod.needsUnmount;
  const sameVolume = pod.volumeId === volume.volumeId && pod.readOnly === volume.readOnly;
  return (
    staying &&
    sameVolume &&
    pod.identity === volume.identity &&
    !pod.noNewWorkload &&
    pod.driverVersion === driverVersion
  );
}

type PodStatus = NonNullable<MountpointPodObject["status"]>;
type Purpose = Pick<MountpointPod, "persistentVolume" | "createdFor">;

function purposeOf({ metadata }: MountpointPodObject): Purpose | undefined {
  const { labels: marks = {}, annotations: notes = {} } = metadata;
  const createdFor = marks[labels.podUid] as PodUid | undefined;
  const persistentVolume = (notes[annotations.volumeName] ?? marks[labels.volumeName]) as PvName | undefined;
  return createdFor && persistentVolume && { persistentVolume, createdFor };
}

/** Known from the beginning, where `nodeName` waits for the scheduler. */
function chosenNode({ affinity }: MountpointPodObject["spec"]): string | undefined {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const fields = terms.flatMap(({ matchFields = [] }) => matchFields);
  return fields.find(({ key }) => key === "metadata.name")?.values?.[0];
}

/** For any Pod of a Mountpoint Pod, also one that 2.x made. */
export function phaseOf({ phase = "Pending", containerStatuses = [] }: PodStatus): MountpointPod["phase"] {
  switch (phase) {
    case "Succeeded":
      return "succeeded";
    case "Failed":
      return "failed";
    case "Running":
    case "Unknown": // a lost node: it may well be serving
      return "running";
    default:
      return containerStatuses.some(isStartedMounter) ? "running" : "pending";
  }
}

function isStartedMounter({ name, state = {}, lastState = {} }: ContainerStatus): boolean {
  return name === mountpointContainer && (state.running ?? state.terminated ?? lastState.terminated) !== undefined;
}
