import { mkdirSync } from "node:fs";
import { isErrno } from "../runtime/errno.ts";
import { MS_NODEV, MS_NOEXEC, MS_NOSUID } from "./kernel-abi.ts";
import { mountAt, readMounts } from "./mounts/mountinfo.ts";
import { syscall } from "./native.ts";

/**
 * Mounts a tmpfs for root at `path`, with `noswap` on kernels that have it (Linux 6.4), so that its content is never written to a
 * disk. An existing tmpfs is kept with its content: it outlives the process that mounted it.
 */
export function mountTmpfs(path: string): void {
  if (mountAt(readMounts(), path)?.fsType === "tmpfs") return;
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const options = "mode=0700,size=64m";
  const mount = (data: string) => syscall("mount", "s3-csi", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, data);
  try {
    mount(`${options},noswap`);
  } catch (error) {
    if (!isErrno(error, "EINVAL")) throw error;
    mount(options);
  }
}
