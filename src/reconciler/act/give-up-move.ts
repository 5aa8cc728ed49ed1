import { ApiError } from "../../kube/client/api-error.ts";
import type { Call } from "../../runtime/call.ts";
import type { PreparedMove } from "../decision/decision.ts";
import { stays } from "../domain/move.ts";
import { type Annotating, annotateFailedMove } from "./annotate.ts";
import { type WarningOn, warn } from "./warn.ts";

/** LC-24. The API server refuses the successor. The workloads stay, and the request is not tried again. */
export async function giveUpMove(
  call: Call,
  cluster: Annotating & WarningOn,
  { from, requests, workloads }: PreparedMove,
  refusal: string,
): Promise<void> {
  const message = stays(from, `its successor cannot be created: ${refusal}`);
  for (const workload of workloads) warn(call, cluster, workload, { reason: "VolumeNotMoved", message });
  await annotateFailedMove(call, cluster, {
    do: "annotateFailedMove",
    mountpointPod: from,
    requests,
    because: refusal,
  });
}

/**
 * A quota, an admission policy or a missing right. The state of the server passes by itself: so does an expired token (401), and so does
 * a quota that two requests change at the same time (409).
 */
export function isLastingRefusal(error: unknown): boolean {
  if (!(error instanceof ApiError)) return true;
  return !error.isServerState && !error.isConflict && error.code !== 401;
}
