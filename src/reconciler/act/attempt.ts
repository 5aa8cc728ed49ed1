/** Writes to the API server whose effect the view shows before the next step. */
import type { MountpointPod, WaitingPod } from "../../core/mountpoint-pod-state.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { type Kind, kinds } from "../../kube/kinds.ts";
import { keyOf } from "../../kube/watch/store.ts";
import { type Call, deadline } from "../../runtime/call.ts";
import type { ObservedAttachment } from "../decision/decision.ts";
import type { MountpointPodConfig } from "../domain/mountpoint-pod/mountpoint-pod.ts";
import type { View } from "../observe/view.ts";

/** outdated: the API server had a newer object than the view, and the view has caught up since. */
export type Result = "accepted" | "outdated";

export interface Viewed {
  readonly view: View;
  readonly mountpointPods: Pick<MountpointPodConfig, "namespace">;
}

/** Only the answers in `late` mean that the view lags. A create in a namespace that does not exist is answered "not found", too. */
export async function attempt(write: Promise<unknown>, ...late: readonly LateAnswer[]): Promise<Result> {
  try {
    await write;
    return "accepted";
  } catch (error) {
    if (error instanceof ApiError && late.some((answer) => error[answer])) return "outdated";
    throw error;
  }
}

type LateAnswer = "isConflict" | "isAlreadyExists" | "isNotFound";

/** A watch delivers within milliseconds, unless it is being re-established. */
const viewLimitMs = 10_000;

export async function untilPod(
  call: Call,
  { view, mountpointPods: { namespace } }: Viewed,
  name: string,
  isSeen: (pod: MountpointPod | undefined) => boolean,
): Promise<void> {
  using limited = limitedWait(call, view, kinds.pods, `Mountpoint Pod ${name}`);
  await view.mountpointPods.waitFor(limited, { key: keyOf({ namespace, name }) }, ([pod]) => isSeen(pod) || undefined);
}

export async function untilWaitingPod(
  call: Call,
  { view, mountpointPods: { namespace } }: Viewed,
  name: string,
  isSeen: (pod: WaitingPod | undefined) => boolean,
): Promise<void> {
  using limited = limitedWait(call, view, kinds.pods, `waiting Mountpoint Pod ${name}`);
  await view.waitingPods.waitFor(limited, { key: keyOf({ namespace, name }) }, ([pod]) => isSeen(pod) || undefined);
}

export async function untilAttachment(
  call: Call,
  { view }: Pick<Viewed, "view">,
  name: string,
  isSeen: (attachment: ObservedAttachment | undefined) => boolean,
): Promise<void> {
  using limited = limitedWait(call, view, kinds.attachments, `attachment ${name}`);
  await view.attachments.waitFor(limited, { key: name }, ([attachment]) => isSeen(attachment) || undefined);
}

/** When the time is over, the watch counts as late. */
function limitedWait(call: Call, { lateWatches }: View, { plural }: Kind<unknown>, what: string): Call & Disposable {
  const sinceMs = performance.now();
  const limited = deadline(call, viewLimitMs, `the watch to show the change of ${what}`);
  const onAbort = () => {
    if (!call.signal.aborted) lateWatches.add(plural, sinceMs);
  };
  limited.signal.addEventListener("abort", onAbort, { once: true });
  return {
    log: limited.log,
    signal: limited.signal,
    [Symbol.dispose]: () => {
      limited.signal.removeEventListener("abort", onAbort);
      limited[Symbol.dispose]();
    },
  };
}
