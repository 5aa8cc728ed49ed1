import { DriverError } from "../../core/errors.ts";
import type { PodName } from "../../core/names.ts";
import type { Store } from "../../core/stores/store.ts";
import { encodeMountRequest, type MountRequest } from "../../core/volume/mount-request.ts";
import type { PidNamespace } from "../../core/volume/pid-namespace.ts";
import type { Health } from "../../linux/fuse/probe.ts";
import type { Call } from "../../runtime/call.ts";
import { maskedFor } from "../../s3/masked.ts";
import { caBundleFiles } from "../credentials/ca-bundle.ts";
import { credentialsFor } from "../credentials/credentials.ts";
import type { CredentialsInUse } from "../credentials/profile.ts";
import { sourcePath } from "../domain/target-path.ts";
import { mayExport, withExport } from "../figures/export.ts";
import { protocolOf } from "../legacy/mounter-2x.ts";
import type { MountRecord } from "../records/mount-records.ts";
import { askSource } from "./ask-source.ts";
import { connectToMounter, type Listening } from "./connect-to-mounter.ts";
import { liveRequest } from "./live-request.ts";
import { mountFailureFix, mountFailureKind, mountS3Error } from "./mount-s3-error.ts";
import type { SourceRoom } from "./source-room.ts";
import { atPresentStore, storeOfRecord } from "./store-of-record.ts";

interface SourceSpec {
  readonly mountpointPod: PodName;
  readonly request: MountRequest;
  readonly credentials: CredentialsInUse;
  readonly pidNamespace: PidNamespace;
  readonly store: Store;
}

/**
 * Mounts the source of a Mountpoint Pod with the options of a record, instead of what is mounted there, and stores the record: before
 * mount-s3 starts, because a mount may outlive this call and this program, and its store must be known then (ID-4).
 */
export async function startSource(call: Call, room: SourceRoom, name: PodName, record: MountRecord): Promise<void> {
  const { workload, volumeId, pidNamespace, access } = record;
  const store = storeOfRecord(room.stores, record);
  const request = atPresentStore(record, store);
  const credentials = {
    credentials: await room.metrics.step("credentials", credentialsFor(call, room.credentials, access)),
    workload,
    volumeId,
  };
  // A directory that is not mounted may contain files: mount(2) covers them, and rmdir(2) would fail.
  if (room.mounts.table().at(sourcePath(room.mounts.kubeletDir, name)) !== undefined) removeSource(room, name);
  const former = room.records.get(name);
  room.records.set(name, { ...record, request });
  try {
    await mountSource(call, room, { mountpointPod: name, request, credentials, pidNamespace, store });
  } catch (error) {
    if (room.mounts.table().source(name) === undefined) restoreRecord(room, name, former);
    throw error;
  }
}

/** Nothing was mounted. */
function restoreRecord({ records }: SourceRoom, name: PodName, former: MountRecord | undefined): void {
  if (former === undefined) records.remove(name);
  else records.set(name, former);
}

/**
 * Guarantees that mount-s3 serves the source of a Mountpoint Pod, or that nothing is mounted there. If the call ends while
 * mount-s3 is starting, the mount stays: the next publish finds it and continues to wait, and the unmount loop removes it
 * if no workload needs it.
 */
async function mountSource(call: Call, room: SourceRoom, spec: SourceSpec): Promise<void> {
  const { comm } = room.credentials;
  const { mountpointPods } = room.cluster;
  const connecting = connectToMounter(call, { comm, mountpointPods }, spec.mountpointPod);
  const listening = await room.metrics.step("mounter", connecting);
  using volume = listening.volume;
  const startedAt = new Date();
  mountAndSend(call, room, spec, listening);
  const health = await room.metrics.step("mount", waitForFirstAnswer(call, room, listening));
  if (health === "serving") return;

  removeSource(room, spec.mountpointPod);
  const { pod } = listening;
  const failed = { pod, volume, startedAt };
  const log = await protocolOf(pod).waitForErrorText(call, { comm, mountpointPods }, failed);
  // SE-4. The object store may have put the access key id into its answer.
  const error = maskedFor(spec.credentials.credentials)(mountS3Error(log));
  const said = error === "" ? "mount-s3 exited without an error message" : error;
  const hints = [mountFailureFix(error), mountpointPods.logsCommand(spec.mountpointPod)];
  throw new DriverError(mountFailureKind(error), said, { hint: hints.filter(Boolean).join(" ") });
}

/** Unmounts the source and removes its directory. mount-s3 then ends, which is not reported as a death. */
export function removeSource({ mounts, registry }: SourceRoom, name: PodName): boolean {
  const { kernel, kubeletDir } = mounts;
  const source = sourcePath(kubeletDir, name);
  registry.disconnect(name);
  let found = false;
  while (kernel.unmount(source)) found = true;
  return kernel.removeDirectory(source) || found;
}

/** The connection exists before mount(2): from mount(2) until mount-s3 answers, every access to the source blocks. */
function mountAndSend(call: Call, room: SourceRoom, spec: SourceSpec, { pod, volume, connection }: Listening): void {
  const { kernel, kubeletDir } = room.mounts;
  using undo = new DisposableStack();
  undo.use(connection);
  const protocol = protocolOf(pod);
  protocol.prepare(volume);
  const { files, env } = protocol.profileFor(spec.credentials);
  volume.writeCredentials({ ...files, ...caBundleFiles(spec.store) });
  const wanted = liveRequest(call, spec.request, pod);
  const request = room.exportsFigures && mayExport(pod) ? withExport(wanted) : wanted;
  const message = encodeMountRequest({ ...request, env: { ...request.env, ...env } });
  // Our copy of the device must be closed before the wait: the kernel reports the mount dead only when the last copy is closed.
  using device = kernel.openFuse();
  const source = sourcePath(kubeletDir, spec.mountpointPod);
  kernel.makeDirectory(source);
  undo.defer(() => removeSource(room, spec.mountpointPod));
  kernel.mountFuse(device, source, spec.pidNamespace);
  connection.send(message, device);
  undo.move();
  room.registry.connected(call.log, spec.mountpointPod, connection);
}

async function waitForFirstAnswer(call: Call, room: SourceRoom, { pod, connection }: Listening): Promise<Health> {
  const answer = askSource(call, room, pod.name);
  if (!protocolOf(pod).connectionEndsWithMountS3) return await answer;
  return await Promise.race([answer, connection.closed.then(() => "dead" as const)]);
}
