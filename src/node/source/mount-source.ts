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
 * Guarantees that mount-s3 serves the source of a Mountpoint Pod, or that nothing is mounted there. If the call ends while
 * mount-s3 is starting, the mount stays: the next publish finds it and continues to wait, and the unmount loop removes it
 * if no workload needs it.
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
  throw new DriverError(mountFailureKind(error), error === "" ? "mount-s3 exited without an error message" : error, {
    hint: node.mountpointPods.logsCommand(spec.mountpointPod),
  });
}

/** Unmounts the source and removes its directory. mount-s3 then ends, which is not reported as a death. */
export function removeSource({ config, kernel, sources }: Mounts, name: PodName): boolean {
  const source = sourcePath(config.kubeletDir, name);
  sources.disconnect(name);
  let found = false;
  while (kernel.unmount(source)) found = true;
  return kernel.removeDirectory(source) || found;
}

/** The connection exists before mount(2): from mount(2) until mount-s3 answers, every access to the source blocks. */
function mountAndSend(call: Call, node: Needed, spec: SourceSpec, { pod, volume, connection }: Listening): void {
  const { kernel, sources } = node;
  using undo = new DisposableStack();
  undo.use(connection);
  const protocol = protocolOf(pod);
  protocol.prepare(volume);
  const { files, env } = protocol.profileFor(spec.keys);
  volume.writeCredentials(files);
  const message = encodeMountRequest({ ...spec.request, env: { ...spec.request.env, ...env } });
  // Our copy of the device must be closed before the wait: the kernel reports the mount dead only when the last copy is closed.
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
  const answer = askSource(call, node, pod.name);
  if (!protocolOf(pod).connectionEndsWithMountS3) return await answer;
  return await Promise.race([answer, connection.closed.then(() => "dead" as const)]);
}
