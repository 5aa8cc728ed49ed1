/** The watches that keep the view up to date; what they leave out never takes memory. */
import { controllerPart, sourcesIn, stuckIn } from "../../core/attachment-status.ts";
import { DriverError } from "../../core/errors.ts";
import { mountpointPodFrom } from "../../core/mountpoint-pod-state.ts";
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
import { type HeadroomPod, headroomPodFrom } from "../domain/headroom-pod.ts";
import { type ReportedPod, reportFrom } from "../domain/mountpoint-pod-report.ts";
import { type S3Volume, s3VolumeFrom } from "../domain/persistent-volume.ts";
import { type Reservation, reservationFrom } from "../domain/reservation.ts";
import { needsVolumes, type Workload, workloadFrom } from "../domain/workload.ts";
import type { Claim, View } from "./view.ts";

export interface WatchOptions {
  readonly mountpointNamespace: string;
  readonly progress: Pick<Progress, "pulse">;
  readonly health: Pick<WatchHealth, "of">;
  readonly freshness: Pick<Freshness, "join">;
}

/** Ends when the call does. */
export async function watchCluster(
  call: Call,
  client: Watcher,
  view: View,
  { mountpointNamespace, progress, health, freshness }: WatchOptions,
): Promise<void> {
  const { pods, persistentVolumeClaims, persistentVolumes, attachments } = kinds;
  const podFrom = (pod: PodObject, intern: Intern) => seenPod(pod, mountpointNamespace, intern);
  const follow = <Shape extends KubeObject, Kept>(what: Watched<Shape, Kept>, feed: Feed<Kept>) => {
    const name = `watch over ${what.kind.plural}`;
    const followed = { turned: progress.pulse(name), follows: health.of(name), freshness: freshness.join() };
    return watch(call, client, { ...what, ...followed }, feed);
  };
  await Promise.all([
    follow({ kind: pods, ...wherever(podFrom) }, podFeed(view)),
    follow({ kind: persistentVolumeClaims, ...wherever(boundClaim) }, view.claims),
    follow({ kind: persistentVolumes, ...wherever(volumeFrom) }, view.volumes),
    follow({ kind: attachments, trim: attachmentFrom }, view.attachments),
  ]);
}

/** Keeps what the parser makes something of. */
function wherever<Shape, Kept>(parse: (object: Shape, intern: Intern) => Kept | undefined) {
  return {
    keep: (object: Shape) => parse(object, asItIs) !== undefined,
    trim: (object: Shape, intern: Intern) => parse(object, intern) as Kept,
  };
}

const asItIs: Intern = (text) => text;

type PodObject = Pod & ReportedPod;

/** What a Pod is to us, by the store that it belongs to; a workload that asks for headroom is in two. */
interface SeenPod {
  readonly mountpointPods?: ReportedMountpointPod;
  readonly headroomPods?: HeadroomPod;
  readonly workloads?: Workload;
  readonly reservations?: Reservation;
}

/** A workload may live in the namespace of Mountpoint Pods, too (SE-1). */
function seenPod(pod: PodObject, mountpointNamespace: string, intern: Intern): SeenPod | undefined {
  if (pod.metadata.namespace === mountpointNamespace) {
    const mountpointPod = mountpointPodFrom(pod);
    if (mountpointPod !== undefined) return { mountpointPods: { ...mountpointPod, ...reportFrom(pod) } };
    const headroomPods = headroomPodFrom(pod);
    if (headroomPods !== undefined) return { headroomPods };
  }
  const workloads = seenWorkload(pod, intern);
  const reservations = reservationFrom(pod);
  if (workloads === undefined && reservations === undefined) return undefined;
  return { ...(workloads && { workloads }), ...(reservations && { reservations }) };
}

/** One that has finished is as good as gone. */
function seenWorkload(pod: PodObject, intern: Intern): Workload | undefined {
  const workload = workloadFrom(pod);
  if (workload.claims.length === 0 || !needsVolumes(workload)) return undefined;
  const { namespace, node, claims, fsGroup } = workload;
  return {
    ...workload,
    namespace: intern(namespace),
    node: node && intern(node),
    claims: claims.map(intern),
    fsGroup: intern(fsGroup),
  };
}

/** One watch over all Pods fills several stores; a Pod whose labels were edited may change from one to the other. */
function podFeed(view: View): Feed<SeenPod> {
  const { workloads, reservations, mountpointPods, headroomPods, podChanges } = view;
  const all = { workloads, reservations, mountpointPods, headroomPods };
  const each = (perform: (store: Feed<never>) => void) => Object.values(all).forEach(perform);
  return {
    begin: () => {
      podChanges.begin(Date.now());
      each((store) => store.begin());
    },
    remove: (key) => each((store) => store.remove(key)),
    complete: () => {
      each((store) => store.complete());
      podChanges.complete();
    },
    put: (key, version, seen) => {
      putOrRemove(workloads, key, version, seen.workloads);
      putOrRemove(reservations, key, version, seen.reservations);
      putOrRemove(mountpointPods, key, version, seen.mountpointPods);
      putOrRemove(headroomPods, key, version, seen.headroomPods);
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

function volumeFrom(volume: PersistentVolume): S3Volume | Refusal | undefined {
  try {
    return s3VolumeFrom(volume);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    const remedy = error.hint === undefined ? "" : ` ${error.hint}`;
    return {
      name: volume.metadata.name as PvName,
      refused: `PersistentVolume ${volume.metadata.name}: ${error.message}.${remedy}`,
    };
  }
}

function attachmentFrom({ metadata, spec, status }: MountpointS3PodAttachment, intern: Intern): ObservedAttachment {
  const { name, uid, resourceVersion, creationTimestamp } = metadata;
  const kept = spec as ObservedAttachment["spec"];
  return {
    metadata: { name, uid, resourceVersion, creationTimestamp },
    spec: { ...kept, nodeName: intern(kept.nodeName), persistentVolumeName: intern(kept.persistentVolumeName) },
    ...(status !== undefined && { status: controllerPart(status), stuck: stuckIn(status), sources: sourcesIn(status) }),
  };
}
