import { DriverError } from "../../core/errors.ts";
import { encodeMountRequest, type MountRequest } from "../../core/mount-request.ts";
import type { PodName } from "../../core/names.ts";
import type { PidNamespace } from "../../core/pid-namespace.ts";
import type { Health } from "../../linux/fuse/probe.ts";
import type { Call } from "../../runtime/call.ts";
import type { KeysInUse } from "../credentials/profile.ts";
import { sourcePath } from "../domain/target-path.ts";
import { protocolOf } from "../legacy/mounter-2x.ts";
import type { NodeParts } from "../node-parts.ts";
import { askSource } from "./ask-source.ts";
import { connectToMounter, type Listening } from "./connect-to-mounter.ts";
import { mountFailureKind, mountS3Error } from "./mount-s3-error.ts";

export interface SourceSpec {
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
export async function mountSource(call: Call, node: Needed, spec: SourceSpec): Promise<void> {
  const listening = await connectToMounter(call, node, spec.mountpointPod);
  using volume = listening.volume;
  const startedAt = new Date();
  mountAndSend(call, node, spec, listening);
  const health = await waitForFirstAnswer(call, node, listening);
  if (health === "serving") return;

  removeSource(node, spec.mountpointPod);
  const { pod } = listening;
  const error = mountS3Error(await protocolOf(pod).waitForErrorText(call, node, { pod, volume, startedAt }));
  throw new DriverError(mountFailureKind(error), error === "" ? "mount-s3 ended without a word" : error, {
    hint: node.mountpointPods.logsCommand(spec.mountpointPod),
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
function mountAndSend(call: Call, node: Needed, spec: SourceSpec, { pod, volume, connection }: Listening): void {
  const { kernel, sources } = node;
  using undo = new DisposableStack();
  undo.use(connection);
  const protocol = protocolOf(pod);
  protocol.prepare(volume);
  const { files, env } = protocol.profileFor(spec.keys);
  volume.writeCredentials(files);
  const message = encodeMountRequest({ ...spec.request, env: { ...spec.request.env, ...env } });
  // Our copy is closed before anybody waits: with it open, a dead mount-s3 would look like a slow one.
  using device = kernel.openFuse();
  const source = sourcePath(node.config.kubeletDir, spec.mountpointPod);
  kernel.makeDirectory(source);
  undo.defer(() => removeSource(node, spec.mountpointPod));
  kernel.mountFuse(device, source, spec.pidNamespace);
  connection.send(message, device);
  undo.move();
  sources.connected(call.log, spec.mountpointPod, connection);
}

async function waitForFirstAnswer(call: Call, node: Needed, { pod, connection }: Listening): Promise<Health> {
  const answered = askSource(call, node, pod.name);
  if (!protocolOf(pod).connectionEndsWithMountS3) return await answered;
  return await Promise.race([answered, connection.closed.then(() => "dead" as const)]);
}
