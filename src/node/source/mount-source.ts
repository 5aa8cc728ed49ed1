import { DriverError } from "../../core/errors.ts";
import { encodeMountRequest, type MountRequest } from "../../core/mount-request.ts";
import type { PodName } from "../../core/names.ts";
import type { PidNamespace } from "../../core/pid-namespace.ts";
import type { Health } from "../../linux/fuse/probe.ts";
import { type Call, deadline } from "../../runtime/call.ts";
import type { LocalMountpointPod } from "../cluster/mountpoint-pods.ts";
import { giveKeys, type KeysInUse } from "../credentials/credentials.ts";
import { sourcePath } from "../domain/target-path.ts";
import type { CommVolume } from "../mounts/comm-volume.ts";
import type { NodeParts } from "../node-parts.ts";
import { askSource } from "./ask-source.ts";
import { type Listening, untilListening } from "./listening.ts";
import { mountFailureKind, mountS3Error } from "./mount-s3-error.ts";
import { untilAnswer } from "./until-answer.ts";

export interface SourceWish {
  readonly mountpointPod: PodName;
  readonly request: MountRequest;
  readonly keys: KeysInUse;
  readonly pidNamespace: PidNamespace;
}

type Needed = Pick<NodeParts, "config" | "kernel" | "comm" | "mountpointPods" | "mountS3Log" | "sources">;
type Mounts = Pick<NodeParts, "config" | "kernel" | "sources">;

/**
 * Makes mount-s3 serve the source of a Mountpoint Pod, or leaves nothing mounted. When time runs out while mount-s3 is
 * still starting, the mount stays: the next call finds it and waits on, and if nobody wants it any more it is unmounted
 * like every other.
 */
export async function mountSource(call: Call, node: Needed, wish: SourceWish): Promise<void> {
  const listening = await untilListening(call, node, wish.mountpointPod);
  using volume = listening.volume;
  const startedAt = new Date();
  mountAndSend(call, node, wish, listening);
  const health = await untilAnswered(call, node, listening);
  if (health === "serving") return;

  removeSource(node, wish.mountpointPod);
  const error = await lastWords(call, node, { pod: listening.pod, volume, startedAt });
  throw new DriverError(mountFailureKind(error), error === "" ? "mount-s3 ended without a word" : error, {
    hint: node.mountpointPods.logsCommand(wish.mountpointPod),
  });
}

/** Takes the source away. An end of mount-s3 that follows is expected. */
export function removeSource({ config, kernel, sources }: Mounts, name: PodName): boolean {
  const source = sourcePath(config.kubeletDir, name);
  sources.disconnect(name);
  let found = false;
  while (kernel.unmount(source)) found = true;
  return kernel.removeDirectory(source) || found;
}

/** Connected first, mounted then: every visitor of the source waits from mount(2) until mount-s3 answers. */
function mountAndSend(call: Call, node: Needed, wish: SourceWish, { pod, volume, connection }: Listening): void {
  const { kernel, sources } = node;
  using undo = new DisposableStack();
  undo.use(connection);
  if (pod.isOld) volume.forgetError();
  const { env } = giveKeys(volume, pod, wish.keys);
  const message = encodeMountRequest({ ...wish.request, env: { ...wish.request.env, ...env } });
  // Our copy is closed before anybody waits: with it open, a dead mount-s3 would look like a slow one.
  using device = kernel.openFuse();
  const source = sourcePath(node.config.kubeletDir, wish.mountpointPod);
  kernel.makeDirectory(source);
  undo.defer(() => removeSource(node, wish.mountpointPod));
  kernel.mountFuse(device, source, wish.pidNamespace);
  connection.send(message, device);
  undo.move();
  sources.connected(call.log, wish.mountpointPod, connection);
}

/** A mounter of 2.x closes the connection as soon as it has read the request, which means nothing. */
async function untilAnswered(call: Call, node: Needed, { pod, connection }: Listening): Promise<Health> {
  const answered = askSource(call, node, pod.name);
  if (pod.isOld) return await answered;
  return await Promise.race([answered, connection.closed.then(() => "dead" as const)]);
}

interface Death {
  readonly pod: LocalMountpointPod;
  readonly volume: CommVolume;
  readonly startedAt: Date;
}

/** Ours dies as the container's only process, so its log is in the Pod's status; the supervisor of 2.x writes a file. */
async function lastWords(call: Call, node: Needed, death: Death): Promise<string> {
  const { pod, startedAt } = death;
  return mountS3Error(
    await (pod.isOld ? oldWords(call, node, death) : node.mountpointPods.lastWords(call, pod.name, startedAt)),
  );
}

const oldWordsLimitMs = 10_000;

/** It writes them a moment after the end, or never, if it was killed itself. */
async function oldWords(call: Call, { comm }: Needed, { pod, volume }: Death): Promise<string> {
  using limited = deadline(call, oldWordsLimitMs, "the last words of mount-s3");
  const written = untilAnswer(limited, [(wake) => comm.subscribe(pod.uid, wake)], () => volume.errorText());
  return await written.catch((error: unknown) => {
    // What is not due to our limit is worth telling: a file that is none, for one (SE-3).
    if (call.signal.aborted || !limited.signal.aborted) throw error;
    return "";
  });
}
