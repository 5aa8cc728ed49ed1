import { DriverError } from "../../core/errors.ts";
import { startFailure } from "../../core/failures/start-failure.ts";
import { isAlive, type MountpointPod, mountpointPodFrom, waitingPodFrom } from "../../core/mountpoint-pod-state.ts";
import {
  annotations,
  livePrefix,
  mountpointContainer,
  type NodeName,
  type PodName,
  type PvName,
  type VolumeId,
} from "../../core/names.ts";
import { type ContainerState, kinds, type Pod } from "../../kube/kinds.ts";
import { keyOf, Store } from "../../kube/watch/store.ts";
import { type Watched, type Watcher, watch } from "../../kube/watch/watch.ts";
import { type Call, deadline } from "../../runtime/call.ts";
import type { Pulses } from "../../runtime/progress.ts";
import { explainTimeout } from "./explain-timeout.ts";

/** What the labels and annotations of a Mountpoint Pod say of its volume. */
type OfVolume = Pick<MountpointPod, "persistentVolume" | "volumeId" | "identity">;

/** A Mountpoint Pod of this node, with the container state that kubelet reports. */
export interface LocalMountpointPod extends Omit<MountpointPod, keyof OfVolume | "createdFor"> {
  /** These three are undefined on a Mountpoint Pod that was created without a volume, until the reconciler has written them (WM-1). */
  readonly persistentVolume: PvName | undefined;
  readonly volumeId: VolumeId | undefined;
  readonly identity: string | undefined;
  /** The driver 2.x made the Pod: its mounter and its image are of 2.x, too. */
  readonly isLegacy: boolean;
  /** Reason and message of the Pod's status, for example of an eviction; empty if there are none. */
  readonly explanation: string;
  /** Why the container or an init container waits. */
  readonly waiting: ContainerState["waiting"];
  /** The claim for which the Pod was created, as `namespace/name`; undefined on Pods of earlier versions. */
  readonly claim: string | undefined;
  /** The annotations of live options; the prefix is part of their names. */
  readonly live: Readonly<Record<string, string>>;
  /** Whether the Pod is in the network of the host, as a mutating webhook may have put it. */
  readonly hostNetwork: boolean;
  /** The last termination of the container. */
  readonly lastTermination: ContainerState["terminated"];
}

/** undefined for a Pod in the namespace that is not a Mountpoint Pod (SE-1). */
export function localMountpointPodFrom(pod: Pod): LocalMountpointPod | undefined {
  const known = mountpointPodFrom(pod) ?? waitingPodFrom(pod);
  if (known === undefined) return undefined;
  return {
    ...noVolume,
    ...known,
    isLegacy: /^[12]\./.test(known.driverVersion),
    hostNetwork: pod.spec.hostNetwork ?? false,
    claim: pod.metadata.annotations?.[annotations.claim],
    live: liveIn(pod.metadata.annotations),
    explanation: [pod.status?.reason, pod.status?.message].filter(Boolean).join(": "),
    ...containerOf(pod),
  };
}

/** Almost no Pod has one: they share an object. */
const noLiveOptions: LocalMountpointPod["live"] = {};

function liveIn(notes: Readonly<Record<string, string>> = {}): LocalMountpointPod["live"] {
  const live = Object.entries(notes).filter(([name]) => name.startsWith(livePrefix));
  return live.length === 0 ? noLiveOptions : Object.fromEntries(live);
}

const noVolume = { persistentVolume: undefined, volumeId: undefined, identity: undefined } as const;

function containerOf({ status = {} }: Pod): Pick<LocalMountpointPod, "waiting" | "lastTermination"> {
  const { initContainerStatuses = [], containerStatuses = [] } = status;
  const container = containerStatuses.find(({ name }) => name === mountpointContainer);
  const { state, lastState } = container ?? {};
  // While the init container that installs a CA waits, kubelet reports only PodInitializing for the main container.
  const earlier = initContainerStatuses.flatMap((init) => init.state?.waiting ?? []);
  return { waiting: earlier[0] ?? state?.waiting, lastTermination: state?.terminated ?? lastState?.terminated };
}

/** The Mountpoint Pods of this node. */
export class MountpointPods {
  readonly store = new Store<LocalMountpointPod>({});
  readonly #namespace: string;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  /** Keeps the store up to date until the call ends. The API server sends only Pods of this node (SC-1). */
  async follow(call: Call, client: Watcher, node: NodeName, progress: Pulses): Promise<void> {
    const local: Watched<Pod, LocalMountpointPod> = {
      kind: kinds.pods,
      turned: progress.pulse("watch over Mountpoint Pods"),
      namespace: this.#namespace,
      fieldSelector: `spec.nodeName=${node}`,
      keep: (pod) => localMountpointPodFrom(pod) !== undefined,
      trim: (pod) => localMountpointPodFrom(pod) as LocalMountpointPod,
    };
    await watch(call, client, local, this.store);
  }

  get(name: PodName): LocalMountpointPod | undefined {
    return this.store.get(this.#key(name));
  }

  /** Calls the listener after every change of the Pod. */
  subscribe(name: PodName, listener: () => void): Disposable {
    const wanted = this.#key(name);
    return this.store.subscribe(({ key }) => {
      if (key === wanted) listener();
    });
  }

  /** Waits until the Pod exists and the scheduler has bound it to this node. */
  async waitUntilKnown(call: Call, name: PodName): Promise<LocalMountpointPod> {
    const missing = () =>
      new DriverError("notReady", `Timed out waiting for Mountpoint Pod ${name} to be scheduled to this node`, {
        hint: this.describeCommand(name),
      });
    const seen = this.store.waitFor(call, { key: this.#key(name) }, ([pod]) => pod);
    return await explainTimeout(call, missing, seen);
  }

  /** Runs `work` until it settles, and aborts it when the Pod is gone or gets the needs-unmount annotation. */
  async whileNeeded<Done>(call: Call, name: PodName, work: (call: Call) => Promise<Done>): Promise<Done> {
    const over = new AbortController();
    const needed = { log: call.log, signal: AbortSignal.any([call.signal, over.signal]) };
    const unneeded = this.store.waitFor<never>(needed, { key: this.#key(name) }, ([pod]) => {
      if (pod !== undefined && !pod.needsUnmount) return undefined;
      throw new DriverError(
        "notReady",
        `Mountpoint Pod ${name} ${pod === undefined ? "is gone" : unusableReason(pod)}`,
      );
    });
    try {
      return await Promise.race([work(needed), unneeded]);
    } finally {
      over.abort();
    }
  }

  /**
   * The termination message of a container that terminated after `since`; empty if kubelet does not report it within the limit.
   * kubelet usually needs a second or two.
   */
  async waitForTerminationMessage(
    call: Call,
    name: PodName,
    since: Date,
    limitMs = terminationMessageLimitMs,
  ): Promise<string> {
    using limited = deadline(call, limitMs, "the termination message of mount-s3");
    // The API reports whole seconds. kubelet uses the clock of this machine.
    const from = `${since.toISOString().slice(0, 19)}Z`;
    const ended = this.store.waitFor(limited, { key: this.#key(name) }, ([pod]) => {
      const { finishedAt = "", message = "" } = pod?.lastTermination ?? {};
      return finishedAt >= from ? message : undefined;
    });
    return await ended.catch((error: unknown) => {
      if (call.signal.aborted) throw error;
      return "";
    });
  }

  logsCommand(name: PodName): string {
    return `See: kubectl logs -n ${this.#namespace} ${name} (with --previous once it was started again)`;
  }

  describeCommand(name: PodName): string {
    return `See: kubectl describe pod -n ${this.#namespace} ${name}`;
  }

  #key(name: PodName): string {
    return keyOf({ namespace: this.#namespace, name });
  }
}

/** Default for callers that hold up a kubelet call. */
const terminationMessageLimitMs = 10_000;

/** Why waiting for this Mountpoint Pod is useless now; undefined while it may still become ready. */
export function unusableReason(pod: LocalMountpointPod): string | undefined {
  if (pod.needsUnmount) return "is being unmounted";
  if (!isAlive(pod)) return `has ended (${described(pod.phase, pod.explanation)})`;
  if (pod.terminating) return "is being deleted";
  const failure = startFailure([pod.waiting]);
  return failure && `does not start (${described(failure.reason, failure.message)})`;
}

function described(what: string, why = ""): string {
  return why === "" ? what : `${what}: ${why}`;
}
