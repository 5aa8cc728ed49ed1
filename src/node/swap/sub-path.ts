/** The part of a bucket that a container with `subPath` sees. */
import { DriverError } from "../../core/errors.ts";
import type { Descriptor } from "../../linux/descriptor.ts";
import { makeDirectoryBelow, openBelow } from "../../linux/mounts/mount-tree.ts";
import type { Call } from "../../runtime/call.ts";
import { isErrno } from "../../runtime/errno.ts";
import { openUnlessAborted } from "./open-unless-aborted.ts";

/**
 * Opens the path of a sub-path mount in the new mount, or rejects when the call ends. kubelet made the directory when the container
 * started, but mount-s3 stores an empty directory only locally until it contains a file: such a directory is lost with
 * mount-s3 and made again. A missing file is an error, because a directory cannot replace the mount of a file.
 */
export async function openSubPath(
  call: Call,
  served: Descriptor,
  { root, wasDirectory }: { readonly root: string; readonly wasDirectory: boolean },
): Promise<Descriptor> {
  const path = root.replace(/^\//, "").replace(/\/\/deleted$/, "");
  try {
    return await openUnlessAborted(call, openBelow(served, path));
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
    if (!wasDirectory) {
      throw new DriverError("notReady", `the file ${path} of a subPath is not in the bucket`, {
        hint: "Put the file into the bucket again, or restart the Pod with another subPath.",
        cause: error,
      });
    }
  }
  using parents = new DisposableStack();
  let at = served;
  for (const name of path.split("/")) {
    at = parents.use(await openUnlessAborted(call, makeAndOpenBelow(at, name)));
  }
  return await openUnlessAborted(call, openBelow(served, path));
}

async function makeAndOpenBelow(directory: Descriptor, name: string): Promise<Descriptor> {
  try {
    await makeDirectoryBelow(directory, name);
  } catch (error) {
    if (!isErrno(error, "EEXIST")) {
      throw new DriverError("notReady", `the directory ${name} of a subPath cannot be made again`, { cause: error });
    }
  }
  return await openBelow(directory, name);
}
