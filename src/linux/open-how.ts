import { O_CLOEXEC } from "./kernel-abi.ts";

/** struct open_how of openat2(2). O_CLOEXEC is always set. */
export function openHow(flags: number, resolve: number): Buffer {
  const how = Buffer.alloc(24);
  how.writeBigUInt64LE(BigInt(flags | O_CLOEXEC), 0);
  how.writeBigUInt64LE(BigInt(resolve), 16);
  return how;
}
