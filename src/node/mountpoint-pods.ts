import { DriverError } from "../core/errors.ts";
import {
  annotations,
  labels,
  mountpointContainer,
  type NodeName,
  type PodName,
  type PodUid,
} from "../core/names.ts";
import { kinds, type Pod } from "../kube/kinds.ts";
import { keyOf, Store } from "../kube/store.ts";
import type { Watched } from "../kube/watch.ts";
import { type Call, deadline } from "../runtime/call.ts";
import { orMissing } from "./waiting.ts";

/** What we remember of a Mountpoint Pod. */
export interface MountpointPod {
  readonly name: PodName;
  readonly uid: PodUid;
  readonly phase: NonNullable<Pod["status"]>["phase"];
  /** Why the phase is what it is, where kubelet says so: eviction, for one. */
  readonly explanation: string;
  readonly terminating: boolean;
  readonly needsUnmount: boolean;
  /** Whose keys it uses; undefined on Pods that 2.x made. */
  readonly identity: string | undefined;
  /** Why its container does not run, if it is waiting. */
  readonly waiting: { readonly reason: string; readonly message: string } | undefined;
  /** How its container ended last. */
  readonly lastEnd: { readonly at: string; readonly message: string } | undefined;
}

/** Only this node's, filtered by the server. Whatever else lives in the namespace is not ours (SE-1). */
export function watchedMountpointPods(namespace: string, node: NodeName): Watched<Pod, MountpointPod> {
  return {
    kind: kinds.pods,
    namespace,
    fieldSelector: `spec.nodeName=${node}`,
    keep: ({ metadata }) => metadata.labels?.[labels.driverVersion] !== undefined,
    trim: mountpointPodFrom,
  };
}

export function mountpointPodFrom({ metadata, status }: Pod): MountpointPod {
  const container = status?.containerStatuses?.find(({ name }) => name === mountpointContainer);
  const { waiting } = container?.state ?? {};
  const ended = container?.state?.terminated ?? container?.lastState?.terminated;
  return {
    name: metadata.name as PodName,
    uid: metadata.uid as PodUid,
    phase: status?.phase,
    explanation: [status?.reason, status?.message].filter(Boolean).join(": "),
    terminating: metadata.deletionTimestamp !== undefined,
    needsUnmount: metadata.annotations?.[annotations.needsUnmount] === "true",
    identity: metadata.annotations?.[annotations.identity],
    waiting: waiting && { reason: waiting.reason ?? "", message: waiting.message ?? "" },
    lastEnd: ended && { at: ended.finishedAt ?? "", message: ended.message ?? "" },
  };
}

/** The Mountpoint Pods of this node. */
export class MountpointPods {
  readonly store = new Store<MountpointPod>({});
  readonly namespace: string;

  constructor(namespace: string) {
    this.namespace = namespace;
  }

  get(name: PodName): MountpointPod | undefined {
    return this.store.get(this.#key(name));
  }

  /** Waits until it is known here, that is: exists, and the scheduler has put it on this node. */
  async known(call: Call, name: PodName): Promise<MountpointPod> {
    const missing = () =>
      new DriverError("notReady", `Timed out waiting for Mountpoint Pod ${name} to be scheduled to this node`, {
        hint: this.describeCommand(name),
      });
    const seen = this.store.waitFor(call, { key: this.#key(name) }, ([pod]) => pod);
    return await orMissing(call, missing, seen);
  }

  /** What its container said when it ended after `since`; kubelet needs a second or two to tell. */
  async lastWords(call: Call, name: PodName, since: Date): Promise<string> {
    using limited = deadline(call, lastWordsLimitMs, "the last words of mount-s3");
    // The API tells whole seconds, and kubelet's clock is the one of this machine.
    const from = `${since.toISOString().slice(0, 19)}Z`;
    const ended = this.store.waitFor(limited, { key: this.#key(name) }, ([pod]) =>
      pod?.lastEnd !== undefined && pod.lastEnd.at >= from ? pod.lastEnd.message : undefined,
    );
    return await ended.catch((error: unknown) => {
      if (call.signal.aborted) throw error;
      return "";
    });
  }

  logsCommand(name: PodName): string {
    return `See: kubectl logs -n ${this.namespace} ${name} (with --previous once it was started again)`;
  }

  describeCommand(name: PodName): string {
    return `See: kubectl describe pod -n ${this.namespace} ${name}`;
  }

  #key(name: PodName): string {
    return keyOf({ namespace: this.namespace, name });
  }
}

const lastWordsLimitMs = 10_000;

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
export function hopelessBecause(pod: MountpointPod | undefined): string | undefined {
  if (pod === undefined) return "is gone";
  if (pod.needsUnmount) return "is being unmounted";
  if (pod.phase === "Failed" || pod.phase === "Succeeded") return `has ended (${described(pod.phase, pod.explanation)})`;
  if (pod.terminating) return "is being deleted";
  const { waiting } = pod;
  return waiting !== undefined && lasting.has(waiting.reason)
    ? `does not start (${described(waiting.reason, waiting.message)})`
    : undefined;
}

function described(what: string, why: string): string {
  return why === "" ? what : `${what}: ${why}`;
}
