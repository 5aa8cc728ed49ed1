import { DriverError } from "../../core/errors.ts";
import type { PodName } from "../../core/names.ts";
import type { Call } from "../../runtime/call.ts";
import { maskedIds } from "../../s3/masked.ts";
import { explainTimeout } from "../cluster/explain-timeout.ts";
import { type LocalMountpointPod, unusableReason } from "../cluster/mountpoint-pods.ts";
import type { CommVolume, Connection } from "../mounts/comm-volume.ts";
import { mountS3Error } from "./mount-s3-error.ts";
import type { MounterParts } from "./mounter-protocol.ts";
import { type ChangeSource, retryOnChange } from "./retry-on-change.ts";

/** A mounter that waits for its request. The caller owns volume and connection. */
export interface Listening {
  readonly pod: LocalMountpointPod;
  readonly volume: CommVolume;
  readonly connection: Connection;
}

/** Connects to the mounter of a Mountpoint Pod as soon as it listens. Rejects early if the Pod will not become usable. */
export async function connectToMounter(call: Call, parts: MounterParts, name: PodName): Promise<Listening> {
  const missing = () => timedOut(parts, name);
  return await explainTimeout(call, missing, connectWhenListening(call, parts, name));
}

/**
 * The socket appears in the communication volume as soon as the mounter listens. kubelet reports a running Pod up to a second
 * later, because it inspects all containers first. The API is watched only for the reasons that make a Pod unusable.
 */
async function connectWhenListening(call: Call, parts: MounterParts, name: PodName): Promise<Listening> {
  const { uid } = await parts.mountpointPods.waitUntilKnown(call, name);
  const volume: ChangeSource = (wake) => parts.comm.subscribe(uid, wake);
  const pod: ChangeSource = (wake) => parts.mountpointPods.subscribe(name, wake);
  return await retryOnChange(call, [volume, pod], () => {
    const known = parts.mountpointPods.get(name);
    return known && tryConnect(parts, known);
  });
}

function tryConnect({ comm, mountpointPods }: MounterParts, pod: LocalMountpointPod): Listening | undefined {
  const reason = unusableReason(pod);
  if (reason !== undefined) {
    throw new DriverError("notReady", `Mountpoint Pod ${pod.name} ${reason}`, {
      hint: mountpointPods.describeCommand(pod.name),
    });
  }
  using undo = new DisposableStack();
  const volume = comm.open(pod.uid);
  if (volume === undefined) return undefined;
  undo.use(volume);
  const connection = volume.connect();
  if (connection === undefined) return undefined;
  undo.move();
  return { pod, volume, connection };
}

function timedOut({ mountpointPods }: MounterParts, name: PodName): DriverError {
  const pod = mountpointPods.get(name);
  const state = pod?.waiting?.reason || pod?.phase || "not there";
  const error = maskedIds(mountS3Error(pod?.lastTermination?.message ?? ""));
  const ended = error === "" ? "" : `, and it ended before with: ${error}`;
  return new DriverError("notReady", `Timed out waiting for Mountpoint Pod ${name} to listen: it is ${state}${ended}`, {
    hint: mountpointPods.describeCommand(name),
  });
}
