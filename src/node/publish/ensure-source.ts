import { isDeepStrictEqual } from "node:util";
import { DriverError } from "../../core/errors.ts";
import type { PodName } from "../../core/names.ts";
import { type Call, withFields } from "../../runtime/call.ts";
import { unusableReason } from "../cluster/mountpoint-pods.ts";
import { waitUntilScheduled } from "../cluster/scheduled.ts";
import { checkVolume } from "../cluster/volume-of.ts";
import { checkIdentity, refreshCredentials } from "../credentials/credentials.ts";
import { sourcePath } from "../domain/target-path.ts";
import { isOurs } from "../mounts/mount-table.ts";
import type { MountRecord } from "../records/mount-records.ts";
import { recordOfRunning } from "../records/running-users.ts";
import { askSource } from "../source/ask-source.ts";
import { startSource } from "../source/mount-source.ts";
import type { SourceRoom } from "../source/source-room.ts";
import { checkStaysAt } from "../source/store-of-record.ts";
import { type MountState, planSource } from "./plan.ts";
import type { WantedMount } from "./wanted-mount.ts";

/** Resolves when the source serves with the current credentials. Shares the work with other calls for the same source. */
export async function ensureSource(call: Call, room: SourceRoom, name: PodName, wanted: WantedMount): Promise<void> {
  const forPod = withFields(call, { mountpointPod: name });
  await room.registry.bringUp(call, name, () => bringUp(forPod, room, name, wanted));
}

async function bringUp(call: Call, room: SourceRoom, name: PodName, wanted: WantedMount): Promise<void> {
  const { intent } = wanted;
  const pod = await room.metrics.step("pod", waitUntilScheduled(call, room.cluster, intent.workload, name));
  const mounted = room.records.get(name)?.persistentVolume;
  checkVolume({ attachments: room.cluster.attachments, mounted }, pod, intent.persistentVolume);
  checkIdentity(pod, intent);
  const plan = planSource(await inspectSource(call, room, name));
  call.log.info("source", { step: plan.do, because: plan.because });
  switch (plan.do) {
    case "keep":
      if (pod.needsUnmount) throw new DriverError("notReady", `Mountpoint Pod ${name} ${unusableReason(pod)}`);
      return refreshCredentials(room.credentials, pod, intent.access);
    case "mount":
      return await startSource(call, room, name, recordToMount(call, room, name, wanted));
    default:
      return plan.do satisfies never;
  }
}

async function inspectSource(call: Call, room: SourceRoom, name: PodName): Promise<MountState> {
  const mount = room.mounts.table().at(sourcePath(room.mounts.kubeletDir, name));
  if (mount === undefined) return "nothing";
  if (!isOurs(mount)) return "foreign";
  const health = await askSource(call, room, name);
  return health === "absent" ? "nothing" : health;
}

/** If running workloads use the source, their bucket and options win over those of the current PersistentVolume. */
function recordToMount(
  call: Call,
  { mounts, records, cluster, stores }: SourceRoom,
  name: PodName,
  { warnings, record }: WantedMount,
): MountRecord {
  const wanted = record();
  for (const warning of warnings) call.log.info("mount options changed", { warning });
  const running = recordOfRunning({ mounts, records, attachments: cluster.attachments }, name);
  if (running === undefined) return wanted;
  checkStaysAt(stores, running, wanted.access.store);
  const { bucketName, args } = running.request;
  if (bucketName !== wanted.request.bucketName || !isDeepStrictEqual(args, wanted.request.args)) {
    call.log.info("running workloads keep bucket and options, which the PersistentVolume or the driver has changed");
  }
  return withCurrentAccess(running, wanted);
}

/**
 * The record of running workloads with the current credentials and environment. The identity behind the credentials was checked
 * against the Mountpoint Pod. Endpoint, region and proxy of the driver may have changed, and the old ones may not work any more.
 */
function withCurrentAccess(running: MountRecord, { access, request: { env } }: MountRecord): MountRecord {
  return { ...running, access, request: { ...running.request, env } };
}
