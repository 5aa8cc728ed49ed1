/** Who looks for buckets without a volume, and where people learn of them: on the controller's own Pod, because nothing else of them is left. */

import { reconcilerLease } from "../../core/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Call } from "../../runtime/call.ts";
import { keptTag } from "../domain/bucket-tags.ts";
import type { Orphan, OrphanParts } from "./orphans.ts";

/** The Pod that this program runs in. */
export interface OwnPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The one beside the reconciler that leads: the provisioner's lease does not tell its Pod. Without an election, everyone. */
export function besideLeader(client: Pick<KubeClient, "get">, pod: OwnPod | undefined): OrphanParts["isOurTurn"] {
  return async (call) => {
    if (pod === undefined) return true;
    const lease = await client.get(call, kinds.leases, { namespace: pod.namespace, name: reconcilerLease });
    return (lease?.spec?.holderIdentity || pod.name) === pod.name;
  };
}

export function orphanReports(events: Pick<EventRecorder, "record">, pod: OwnPod | undefined): OrphanParts["report"] {
  return async (call: Call, orphan: Orphan) => {
    if (pod === undefined) return; // the log has it
    const happening = { type: "Warning", reason: "BucketWithoutVolume", message: messageOf(orphan) } as const;
    await events.record(call, { kind: kinds.pods, metadata: pod }, happening);
  };
}

function messageOf({ bucket, trace }: Orphan): string {
  const known =
    trace.kind === "of"
      ? `was made for claim ${trace.claim ?? "(unknown)"}, and neither the claim nor a PersistentVolume with the bucket exists any more`
      : "looks like that of a volume, but nothing on it says whose: another cluster may use it";
  return `Bucket ${bucket} ${known}. The driver leaves it alone: remove it by hand if nobody needs it, or add the tag ${keptTag} to hear no more of it`;
}
