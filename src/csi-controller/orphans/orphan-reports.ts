/** Which replica searches for orphaned buckets, and the events that report them. */
import { reconcilerLease } from "../../core/names.ts";
import { defaultStore } from "../../core/stores/store.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Call } from "../../runtime/call.ts";
import { keptTag } from "../domain/bucket-tags.ts";
import type { Orphan, OrphanDependencies } from "./orphans.ts";

/** The Pod of this process. */
export interface OwnPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * True in the Pod whose reconciler leads: its lease names the Pod, that of csi-provisioner does not. Without leader election every
 * replica is active.
 */
export function activeWithLeader(
  client: Pick<KubeClient, "get">,
  pod: OwnPod | undefined,
): OrphanDependencies["isActive"] {
  return async (call) => {
    if (pod === undefined) return true;
    const lease = await client.get(call, kinds.leases, { namespace: pod.namespace, name: reconcilerLease });
    return (lease?.spec?.holderIdentity || pod.name) === pod.name;
  };
}

/** The event is on the controller's own Pod, because no object of the volume is left. */
export function orphanReporter(
  events: Pick<EventRecorder, "record">,
  pod: OwnPod | undefined,
): OrphanDependencies["report"] {
  return (call: Call, orphan: Orphan) => {
    if (pod === undefined) return; // the log names the bucket
    const event = { reason: "BucketWithoutVolume", message: messageFor(orphan), fix: orphanFix } as const;
    events.record(call, { kind: kinds.pods, metadata: pod }, event);
  };
}

function messageFor({ store, bucket, origin }: Orphan): string {
  const facts =
    origin.kind === "volume"
      ? `was created for claim ${origin.claim ?? "(unknown)"}; no PersistentVolume has this bucket, and the claim does not wait for one`
      : "has the name of a volume's bucket, but no tag names its volume: another cluster may use it";
  return `Bucket ${bucket}${store === defaultStore ? "" : ` on store ${store}`} ${facts}`;
}

const orphanFix = `The driver does not delete it: remove it by hand if it is not needed, or add the tag ${keptTag} to stop this event.`;
