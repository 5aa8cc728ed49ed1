/** The watches that keep the view up to date. They parse each object once and keep only what the reconciler uses. */

import { type AttachmentStatus, controllerPart, sourcesIn, stuckIn } from "../../core/attachment-status.ts";
import { DriverError } from "../../core/errors.ts";
import { boundedWithFix } from "../../core/failures/bounded-text.ts";
import { type MountpointPod, mountpointPodFrom, waitingPodFrom } from "../../core/mountpoint-pod-state.ts";
import type { PvName } from "../../core/names.ts";
import {
  type KubeObject,
  kinds,
  type MountpointS3PodAttachment,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
} from "../../kube/kinds.ts";
import type { Freshness } from "../../kube/watch/freshness.ts";
import type { Intern } from "../../kube/watch/intern.ts";
import type { Feed } from "../../kube/watch/store.ts";
import { type Watched, type Watcher, watch } from "../../kube/watch/watch.ts";
import type { WatchHealth } from "../../kube/watch/watch-health.ts";
import type { Call } from "../../runtime/call.ts";
import type { Progress } from "../../runtime/progress.ts";
import type { ObservedAttachment, Refusal } from "../decision/decision.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import { type HeadroomPod, headroomPodFrom } from "../domain/mountpoint-pod/headroom-pod.ts";
import { type ReportedPod, reportFrom } from "../domain/mountpoint-pod/mountpoint-pod-report.ts";
import type { ReportedWaitingPod } from "../domain/mountpoint-pod/warm-pod.ts";
import { type Installation, type S3Volume, s3VolumeFrom } from "../domain/persistent-volume.ts";
import { type Reservation, reservationFrom } from "../domain/reservation.ts";
import { needsVolumes, type Workload, workloadFrom } from "../domain/workload.ts";
import { forgetForeignWorkloads, isForeign } from "./foreign-volumes.ts";
import { type Claim, synced, type View } from "./view.ts";

export interface WatchOptions {
  readonly mountpointNamespace: string;
  readonly progress: Pick<Progress, "pulse">;
  readonly health: Pick<WatchHealth, "of">;
  readonly freshness: Pick<Freshness, "join">;
  readonly installation: Installation;
}

/** Keeps the view up to date until the call ends. */
export async function watchCluster(
  call: Call,
  client: Watcher,
  view: View,
  { mountpointNamespace, progress, health, freshness, installation }: WatchOptions,
): Promise<void> {
  const { pods, persistentVolumeClaims, persistentVolumes, attachments } = kinds;
  const podFrom = (pod: PodObject, intern: Intern) => observedPod(pod, mountpointNamespace, intern);
  // `watch` removes an object from the store when `trim` returns undefined, so that each object is parsed once, here.
  const follow = <Shape extends KubeObject, Kept>(what: Watched<Shape, Kept | undefined>, feed: Feed<Kept>) => {
    const name = `watch over ${what.kind.plural}`;
    const followed = {
      turned: progress.pulse(name),
      follows: health.of(name),
      freshness: freshness.join(what.kind.plural),
    };
    return watch(call, client, { ...what, ...followed }, feed);
  };
  await Promise.all([
    follow({ kind: pods, trim: podFrom }, podFeed(view)),
    follow({ kind: persistentVolumeClaims, trim: boundClaim }, view.claims),
    follow({ kind: persistentVolumes, trim: (volume) => volumeFrom(installation, volume) }, volumeFeed(view)),
    follow({ kind: attachments, trim: attachmentFrom }, view.attachments),
    synced(call, view).then(
      () => forgetForeignWorkloads(call, view),
      () => undefined, // the call has ended
    ),
  ]);
}

type PodObject = Pod & ReportedPod;

/** What one Pod is for the reconciler, by store. A workload that reserves headroom is in two stores. */
interface ObservedPod {
  readonly mountpointPods?: ReportedMountpointPod;
  readonly waitingPods?: ReportedWaitingPod;
  readonly headroomPods?: HeadroomPod;
  readonly workloads?: Workload;
  readonly reservations?: Reservation;
}

/** undefined: the Pod is of no interest. A workload may run in the namespace of Mountpoint Pods, too (SE-1). */
function observedPod(pod: PodObject, mountpointNamespace: string, intern: Intern): ObservedPod | undefined {
  if (pod.metadata.namespace === mountpointNamespace) {
    const mountpointPod = mountpointPodFrom(pod);
    if (mountpointPod !== undefined) {
      return { mountpointPods: { ...internedPod(mountpointPod, intern), ...reportFrom(pod) } };
    }
    const waitingPod = waitingPodFrom(pod);
    if (waitingPod !== undefined) {
      const { node, warmSettings } = waitingPod;
      return {
        waitingPods: { ...waitingPod, node: intern(node), warmSettings: intern(warmSettings), ...reportFrom(pod) },
      };
    }
    const headroomPods = headroomPodFrom(pod);
    if (headroomPods !== undefined) return { headroomPods };
  }
  const workload = workloadFrom(pod);
  const reservations = reservationFrom(pod, workload);
  const needsClaims = workload.claims.length > 0 && needsVolumes(workload);
  if (!needsClaims && reservations === undefined) return undefined;
  return { ...(needsClaims && { workloads: interned(workload, intern) }), ...(reservations && { reservations }) };
}

/** Many workloads have these texts in common. */
function interned(workload: Workload, intern: Intern): Workload {
  const { namespace, account, node, claims, fsGroup } = workload;
  return {
    ...workload,
    namespace: intern(namespace),
    account: intern(account),
    node: node && intern(node),
    claims: claims.map(intern),
    fsGroup: intern(fsGroup),
  };
}

function internedPod(pod: MountpointPod, intern: Intern): MountpointPod {
  const { node, persistentVolume, volumeId, identity, driverVersion, settings } = pod;
  return {
    ...pod,
    node: intern(node),
    persistentVolume: intern(persistentVolume),
    volumeId: volumeId && intern(volumeId),
    identity: identity && intern(identity),
    driverVersion: intern(driverVersion),
    settings: settings && intern(settings),
  };
}

/** One watch over all Pods fills several stores. A Pod whose labels were edited may move from one store to another. */
function podFeed(view: View): Feed<ObservedPod> {
  const { workloads, reservations, mountpointPods, waitingPods, headroomPods, podChanges } = view;
  const all = { workloads, reservations, mountpointPods, waitingPods, headroomPods };
  const each = (perform: (store: Feed<never>) => void) => Object.values(all).forEach(perform);
  return {
    begin: (askedAtMs) => {
      podChanges.begin(askedAtMs);
      each((store) => store.begin(askedAtMs));
    },
    remove: (key) => each((store) => store.remove(key)),
    complete: () => {
      each((store) => store.complete());
      podChanges.complete();
    },
    put: (key, version, pod) => {
      const isKept = pod.workloads !== undefined && !isForeign(view, pod.workloads);
      putOrRemove(workloads, key, version, isKept ? pod.workloads : undefined);
      putOrRemove(reservations, key, version, pod.reservations);
      putOrRemove(mountpointPods, key, version, pod.mountpointPods);
      // After mountpointPods, so that a Pod that gets its volume is never in neither.
      putOrRemove(waitingPods, key, version, pod.waitingPods);
      putOrRemove(headroomPods, key, version, pod.headroomPods);
    },
  };
}

/** Of the volumes of other drivers only the names are kept. */
function volumeFeed({ volumes, foreignVolumes }: View): Feed<S3Volume | Refusal | "foreign"> {
  return {
    begin: () => {
      volumes.begin();
      foreignVolumes.begin();
    },
    remove: (key) => {
      volumes.remove(key);
      foreignVolumes.remove(key);
    },
    complete: () => {
      volumes.complete();
      foreignVolumes.complete();
    },
    put: (key, version, volume) => {
      putOrRemove(volumes, key, version, volume === "foreign" ? undefined : volume);
      if (volume === "foreign") foreignVolumes.put(key);
      else foreignVolumes.remove(key);
    },
  };
}

function putOrRemove<Kept>(store: Feed<Kept>, key: string, version: string, kept: Kept | undefined): void {
  if (kept === undefined) store.remove(key);
  else store.put(key, version, kept);
}

function boundClaim({ metadata, spec, status }: PersistentVolumeClaim, intern: Intern): Claim | undefined {
  if (status?.phase !== "Bound" || !spec.volumeName) return undefined;
  const { name, uid } = metadata;
  return { namespace: intern(metadata.namespace ?? ""), name, uid, volume: spec.volumeName as PvName };
}

/** Leaves room for what an event says before the refusal. */
const refusalBytes = 900;

function volumeFrom(installation: Installation, volume: PersistentVolume): S3Volume | Refusal | "foreign" {
  try {
    return s3VolumeFrom(installation, volume) ?? "foreign";
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    const { name } = volume.metadata;
    const refused = boundedWithFix(`PersistentVolume ${name}: ${error.message}`, error.hint, refusalBytes);
    return { name: name as PvName, refused };
  }
}

function attachmentFrom({ metadata, spec, status }: MountpointS3PodAttachment, intern: Intern): ObservedAttachment {
  const { name, uid, resourceVersion, creationTimestamp } = metadata;
  const kept = spec as ObservedAttachment["spec"];
  return {
    metadata: { name, uid, resourceVersion, creationTimestamp },
    observedAtMs: performance.now(),
    spec: {
      ...kept,
      nodeName: intern(kept.nodeName),
      persistentVolumeName: intern(kept.persistentVolumeName),
      volumeID: intern(kept.volumeID),
      mountOptions: intern(kept.mountOptions),
    },
    ...(status !== undefined && {
      status: internedStatus(controllerPart(status), intern),
      stuck: stuckIn(status),
      sources: sourcesIn(status),
    }),
  };
}

/** The messages of attachments without a problem are equal. */
function internedStatus(status: AttachmentStatus, intern: Intern): AttachmentStatus {
  if (status.conditions === undefined) return status;
  const conditions = status.conditions.map((condition) => ({ ...condition, message: intern(condition.message) }));
  return { ...status, conditions };
}
