import { expect, it } from "vitest";
import { fileMappings } from "./page-out.ts";

it("finds mappings of files, but not heap, stack and mappings of the kernel", () => {
  const maps = [
    "00400000-01acb000 r--p 00000000 00:2f 1234                               /opt/s3-csi/node",
    "2a5c1000-2b0e2000 rw-p 00000000 00:00 0                                  [heap]",
    "7f2c4c000000-7f2c4c021000 rw-p 00000000 00:00 0 ",
    "7f2c51a00000-7f2c51a02000 r-xp 00001000 00:2f 99                         /a path/with spaces.so (deleted)",
    "7ffd0b9d1000-7ffd0b9d3000 r-xp 00000000 00:00 0                          [vdso]",
    "",
  ].join("\n");
  expect(fileMappings(maps)).toEqual([
    { address: 0x400000, bytes: 0x16cb000 },
    { address: 0x7f2c51a00000, bytes: 0x2000 },
  ]);
});
