import { DriverError } from "../../core/errors.ts";
import { isAlive, type MountpointPod, mountpointPodFrom } from "../../core/mountpoint-pod-state.ts";
import { mountpointContainer, type NodeName, type PodName } from "../../core/names.ts";
import { type ContainerState, kinds, type Pod } from "../../kube/kinds.ts";
import { keyOf, Store } from "../../kube/watch/store.ts";
import { type Watched, type Watcher, watch } from "../../kube/watch/watch.ts";
import { type Call, deadline } from "../../runtime/call.ts";
import type { Pulses } from "../../runtime/progress.ts";
import { explainTimeout } from "./explain-timeout.ts";

/** A Mountpoint Pod of this node, with what kubelet says about its container. */
export interface LocalMountpointPod extends MountpointPod {
  /** Made by 2.x: its mounter and its image are, too. */
  readonly isLegacy: boolean;
  /** Why the phase is what it is, where kubelet says so: eviction, for one. */
  readonly explanation: string;
  /** Why its container does not run, if it or one before it is waiting. */
  readonly waiting: ContainerState["waiting"];
  /** How its container ended last. */
  readonly lastTermination: ContainerState["terminated"];
}

/** undefined for a Pod that is none of ours, whatever it does in the namespace (SE-1). */
export function localMountpointPodFrom(pod: Pod): LocalMountpointPod | undefined {
  const known = mountpointPodFrom(pod);
  if (known === undefined) return undefined;
  return {
    ...known,
    isLegacy: /^[12]\./.test(known.driverVersion),
    explanation: [pod.status?.reason, pod.status?.message].filter(Boolean).join(": "),
    ...containerOf(pod),
  };
}

function containerOf({ status = {} }: Pod): Pick<LocalMountpointPod, "waiting" | "lastTermination"> {
  const { initContainerStatuses = [], containerStatuses = [] } = status;
  const container = containerStatuses.find(({ name }) => name === mountpointContainer);
  const { state, lastState } = container ?? {};
  // Before it, the one that installs a CA has to run; until then kubelet says of the other only that it waits.
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

  /** Keeps the store up to date until the call ends. The server sends what is on this node, and nothing else (SC-1). */
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

  /** From now on, whenever something about it changes. */
  subscribe(name: PodName, listener: () => void): Disposable {
    const wanted = this.#key(name);
    return this.store.subscribe(({ key }) => {
      if (key === wanted) listener();
    });
  }

  /** Waits until it is known here, that is: exists, and the scheduler has put it on this node. */
  async waitUntilKnown(call: Call, name: PodName): Promise<LocalMountpointPod> {
    const missing = () =>
      new DriverError("notReady", `Timed out waiting for Mountpoint Pod ${name} to be scheduled to this node`, {
        hint: this.describeCommand(name),
      });
    const seen = this.store.waitFor(call, { key: this.#key(name) }, ([pod]) => pod);
    return await explainTimeout(call, missing, seen);
  }

  /** Work that is of use only as long as somebody needs the Mountpoint Pod: it ends early when nobody does any more. */
  async whileNeeded<Done>(call: Call, name: PodName, work: (call: Call) => Promise<Done>): Promise<Done> {
    const over = new AbortController();
    const until = { log: call.log, signal: AbortSignal.any([call.signal, over.signal]) };
    const unneeded = this.store.waitFor<never>(until, { key: this.#key(name) }, ([pod]) => {
      if (pod !== undefined && !pod.needsUnmount) return undefined;
      throw new DriverError(
        "notReady",
        `Mountpoint Pod ${name} ${pod === undefined ? "is gone" : unusableReason(pod)}`,
      );
    });
    try {
      return await Promise.race([work(until), unneeded]);
    } finally {
      over.abort();
    }
  }

  /** What its container said when it ended after `since`; kubelet needs a second or two to tell. */
  async waitForTerminationMessage(
    call: Call,
    name: PodName,
    since: Date,
    limitMs = terminationMessageLimitMs,
  ): Promise<string> {
    using limited = deadline(call, limitMs, "the last words of mount-s3");
    // The API tells whole seconds, and kubelet's clock is the one of this machine.
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

/** For whoever is waited for himself. */
const terminationMessageLimitMs = 10_000;

/** Only time and other people help against these; a container that crashed, in contrast, is started again soon. */
const lasting = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
]);

/** Why waiting for this Mountpoint Pod is of no use now; undefined while there is hope. */
export function unusableReason(pod: LocalMountpointPod): string | undefined {
  if (pod.needsUnmount) return "is being unmounted";
  if (!isAlive(pod)) return `has ended (${described(pod.phase, pod.explanation)})`;
  if (pod.terminating) return "is being deleted";
  const { waiting } = pod;
  return waiting?.reason !== undefined && lasting.has(waiting.reason)
    ? `does not start (${described(waiting.reason, waiting.message)})`
    : undefined;
}

function described(what: string, why = ""): string {
  return why === "" ? what : `${what}: ${why}`;
}
