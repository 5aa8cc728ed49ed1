/** The part of a bucket that a container with `subPath` sees. */
import { DriverError } from "../../core/errors.ts";
import type { Descriptor } from "../../linux/descriptor.ts";
import { makeDirectoryBelow, openBelow } from "../../linux/mounts/mount-tree.ts";
import type { Call } from "../../runtime/call.ts";
import { isErrno } from "../../runtime/errno.ts";
import { openUnlessAborted } from "./open-unless-aborted.ts";

/**
 * Ends with the call. The place in the new mount that a path of the old one names. kubelet made the directory when the container started,
 * but mount-s3 keeps an empty one to itself until a file lands in it: then it died with it, and is made again. A file is
 * not: whoever has it mounted cannot use a directory in its place.
 */
export async function partOf(
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
