/** Frees the memory of program code that only the start needs. The kernel reads it from the files again when it is executed. */
import { readFileSync } from "node:fs";
import { isErrno } from "../../runtime/errno.ts";
import { MADV_PAGEOUT } from "../kernel-abi.ts";
import { syscall } from "../native.ts";

interface Range {
  readonly address: number;
  readonly bytes: number;
}

/** Pages out all file mappings of this process. Returns their size in bytes. Code that runs again is read page by page. */
export function pageOutFiles(): number {
  const ranges = fileMappings(readFileSync("/proc/self/maps", "utf8"));
  return ranges.filter(pagedOut).reduce((sum, { bytes }) => sum + bytes, 0);
}

function pagedOut({ address, bytes }: Range): boolean {
  try {
    syscall("madvise", address, bytes, MADV_PAGEOUT);
    return true;
  } catch (error) {
    // EINVAL: a kernel before 5.4, or locked memory. The process then only uses more memory.
    if (isErrno(error, "EINVAL")) return false;
    throw error;
  }
}

/** Parses proc_pid_maps(5): addresses, rights, offset, device, inode, path. Memory without a file has no path, or one in brackets. */
export function fileMappings(maps: string): readonly Range[] {
  return maps.split("\n").flatMap((line) => {
    const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \d+ +\/.*$/.exec(line) ?? [];
    if (from === undefined || to === undefined) return [];
    const address = Number.parseInt(from, 16);
    return [{ address, bytes: Number.parseInt(to, 16) - address }];
  });
}
