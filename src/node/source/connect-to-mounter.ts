import { DriverError } from "../../core/errors.ts";
import type { PodName } from "../../core/names.ts";
import type { Call } from "../../runtime/call.ts";
import { explainTimeout } from "../cluster/explain-timeout.ts";
import { type LocalMountpointPod, unusableReason } from "../cluster/mountpoint-pods.ts";
import type { CommVolume, Connection } from "../mounts/comm-volume.ts";
import type { NodeParts } from "../node-parts.ts";
import { mountS3Error } from "./mount-s3-error.ts";
import { retryOnChange, type Source } from "./retry-on-change.ts";

/** A mounter that waits for its request. Whoever asked owns both. */
export interface Listening {
  readonly pod: LocalMountpointPod;
  readonly volume: CommVolume;
  readonly connection: Connection;
}

type Needed = Pick<NodeParts, "comm" | "mountpointPods">;

/** Connects to the mounter of a Mountpoint Pod as soon as it listens; ends early for a reason that will last. */
export async function connectToMounter(call: Call, node: Needed, name: PodName): Promise<Listening> {
  const missing = () => timedOut(node, name);
  return await explainTimeout(call, missing, look(call, node, name));
}

/**
 * Its volume tells at once. Waiting for the API to say that the Pod runs would take up to a second more, until kubelet
 * has looked at all containers; what the API says is heard for the reasons that will last.
 */
async function look(call: Call, node: Needed, name: PodName): Promise<Listening> {
  const { uid } = await node.mountpointPods.waitUntilKnown(call, name);
  const volume: Source = (wake) => node.comm.subscribe(uid, wake);
  const pod: Source = (wake) => node.mountpointPods.subscribe(name, wake);
  return await retryOnChange(call, [volume, pod], () => {
    const known = node.mountpointPods.get(name);
    return known && tryConnect(node, known);
  });
}

function tryConnect({ comm, mountpointPods }: Needed, pod: LocalMountpointPod): Listening | undefined {
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

function timedOut({ mountpointPods }: Needed, name: PodName): DriverError {
  const pod = mountpointPods.get(name);
  const state = pod?.waiting?.reason || pod?.phase || "not there";
  const words = mountS3Error(pod?.lastTermination?.message ?? "");
  const ended = words === "" ? "" : `, and it ended before with: ${words}`;
  return new DriverError("notReady", `Timed out waiting for Mountpoint Pod ${name} to listen: it is ${state}${ended}`, {
    hint: mountpointPods.describeCommand(name),
  });
}
