/** Flags of openat2(2), which Linux has since 5.6. */
const O_CLOEXEC = 0o2000000;

/** Not in fs.constants. */
export const O_PATH = 0o10000000;
export const RESOLVE_NO_XDEV = 0x01;
export const RESOLVE_NO_MAGICLINKS = 0x02;
export const RESOLVE_NO_SYMLINKS = 0x04;
export const RESOLVE_BENEATH = 0x08;
/** Absolute links begin at the given root, and `..` does not lead out of it. */
export const RESOLVE_IN_ROOT = 0x10;

/** struct open_how */
export function openHow(flags: number, resolve: number): Buffer {
  const how = Buffer.alloc(24);
  how.writeBigUInt64LE(BigInt(flags | O_CLOEXEC), 0);
  how.writeBigUInt64LE(BigInt(resolve), 16);
  return how;
}
