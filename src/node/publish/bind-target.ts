import { DriverError } from "../../core/errors.ts";
import type { Mount } from "../../linux/mounts/mountinfo.ts";
import type { Call } from "../../runtime/call.ts";
import type { Kernel } from "../mounts/kernel.ts";
import { isOurs, type MountTable } from "../mounts/mount-table.ts";
import type { NodeMounts } from "../mounts/node-mounts.ts";

export interface Bind {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

/**
 * Binds the source to the target and verifies the result, or leaves the target as it was (DS-6). Guarantees that the target shows
 * the device of the source: kubelet bind-mounts the target into containers. Synchronous, so that no other call of the node
 * plugin changes the mounts in between.
 */
export function bindTarget({ kubeletDir, kernel, table }: NodeMounts, { source, target, readOnly }: Bind): void {
  using undo = new DisposableStack();
  const mounts = table();
  const served = mounts.oursAt(source);
  if (served === undefined) throw vanished(source);
  prepare(kernel, mounts, target, served);

  if (readOnly) kernel.bindReadOnly(source, target);
  else kernel.bind(source, target);
  undo.defer(() => kernel.unmount(target));

  const bound = table().oursAt(target);
  if (bound === undefined || bound.deviceId !== served.deviceId) throw vanished(source);
  if (readOnly && !bound.readOnly) throw new DriverError("notReady", `${target} is not read-only`);
  // DS-13: the kernel propagates a bind mount to the node before mount(2) returns, or never.
  if (kernel.isOnNode(target, bound.deviceId) === false) throw notShared(kubeletDir, target);
  undo.move();
}

function notShared(kubeletDir: string, target: string): DriverError {
  const problem = `the volume is mounted at ${target} in the node plugin's container, but not on the node`;
  return new DriverError("notReady", `${problem}: a container would write to the node's disk`, {
    hint: `On the node, ${kubeletDir} and every mount below it must be shared: findmnt -R -o TARGET,PROPAGATION ${kubeletDir}, then mount --make-rshared PATH, and restart the node plugin.`,
  });
}

/** mount-s3 answers within milliseconds. */
const proofLimitMs = 10_000;

/**
 * Verifies that mount-s3 serves the target, or unmounts the target: mount-s3 may have died since its last answer, and no container
 * starts with a dead mount (DS-6).
 */
export async function proveServing(
  call: Call,
  kernel: Kernel,
  { source, target }: Pick<Bind, "source" | "target">,
): Promise<void> {
  using undo = new DisposableStack();
  undo.defer(() => kernel.unmount(target));
  const health = await kernel.probe(call, target, proofLimitMs);
  if (health !== "serving") {
    throw new DriverError("notReady", `mount-s3 at ${source} is ${health} before the volume could be published`);
  }
  undo.move();
}

/** Whether the target shows the source already, read-only if that is requested. */
export function isBound(mounts: MountTable, { source, target, readOnly }: Bind): boolean {
  const [served, bound] = [mounts.at(source), mounts.oursAt(target)];
  return served !== undefined && bound?.deviceId === served.deviceId && (bound.readOnly || !readOnly);
}

/**
 * One dead mount stays below the new one, because containers with a slave copy receive only what is mounted on top of it. A second
 * dead mount is unmounted, so that dead mounts do not accumulate.
 */
function prepare(kernel: Kernel, mounts: MountTable, target: string, served: Mount): void {
  const top = mounts.at(target);
  if (top === undefined) kernel.makeDirectory(target);
  else if (isOurs(top) && top.deviceId !== served.deviceId && coversOurs(mounts, top)) kernel.unmount(target);
}

function coversOurs(mounts: MountTable, { parentId, mountPoint }: Mount): boolean {
  return mounts.all.some((mount) => mount.id === parentId && mount.mountPoint === mountPoint && isOurs(mount));
}

function vanished(source: string): DriverError {
  return new DriverError("notReady", `the mount at ${source} vanished while it was being published`);
}
