/** What the tests of the mounter share: a request, and the node's end of the socket. */
import { readFileSync, readlinkSync } from "node:fs";
import { encodeMountRequest, type MountRequest } from "../../src/core/volume/mount-request.ts";
import { Directory } from "../../src/linux/directory.ts";
import { openFuse } from "../../src/linux/fuse/fuse.ts";
import { connect, type FdSender } from "../../src/linux/socket/fd-sender.ts";

export const request: MountRequest = {
  bucketName: "photos",
  args: ["--allow-root", "--prefix=a b/"],
  env: { FIXTURE: "wait", AWS_REGION: "eu-west-1", EMPTY: "" },
};

/** As our node does it: connect, send with the device, keep the connection. */
export function sendTo(directoryPath: string, message: MountRequest = request): FdSender {
  using directory = Directory.open(directoryPath);
  using fuse = openFuse();
  const connection = connect(directory, "mount.sock");
  connection.send(encodeMountRequest(message), fuse);
  return connection;
}

export const procFile = (pid: number, name: string) => readFileSync(`/proc/${pid}/${name}`, "utf8");

/** The descriptor that lists the directory is gone when we look at it. */
export function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
