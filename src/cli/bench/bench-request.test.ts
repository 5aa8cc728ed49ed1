import { expect, it } from "vitest";
import { volume } from "../../topology/cluster.fixture.ts";
import { benchIdentity, benchSizes, readsOnly } from "./bench-request.ts";

const options = { size: "64Mi", files: "100" };

it("OP-5 bench takes sizes as Kubernetes writes them, within bounds", () => {
  expect(benchSizes(options)).toEqual({ sizeBytes: 64 * 2 ** 20, files: 100 });
  for (const size of ["1Ki", "5Gi", "much"])
    expect(() => benchSizes({ ...options, size })).toThrow("is not a size from 1Mi to 4Gi");
  for (const files of ["0", "1001", "1e2", "-1", ""])
    expect(() => benchSizes({ ...options, files })).toThrow("is not a number from 1 to 1000");
});

it("OP-5 bench runs as the owner of the files, unless it is told otherwise", () => {
  expect(benchIdentity(options, volume())).toEqual({ user: 1000, fsGroup: undefined });
  expect(benchIdentity(options, volume({ mountOptions: ["--uid=2000"] })).user).toBe(2000);
  expect(benchIdentity(options, volume({ mountOptions: ["uid 0"] })).user).toBe(1000);
  expect(benchIdentity({ ...options, user: "7", fsGroup: "8" }, volume())).toEqual({ user: 7, fsGroup: 8 });
});

it.each([
  { but: { mountOptions: ["allow-delete"] }, because: "written" },
  { but: { mountOptions: [] }, because: "allow-delete" },
  { but: { mountOptions: ["allow-delete", "read-only"] }, because: "read-only" },
  { but: { mountOptions: ["allow-delete", "uid=0"] }, because: "root" },
  { but: { accessModes: ["ReadOnlyMany"] }, because: "ReadOnlyMany" },
  { but: { accessModes: ["ReadOnlyMany", "ReadWriteMany"] }, because: "written" },
])("OP-5 bench writes only where it can remove what it wrote: $because", ({ but, because }) => {
  const found = readsOnly(volume(but))?.because ?? "";
  expect(found === "" ? "written" : found).toContain(because);
});

/** The patch in the command of the fix. */
function patched(fix = ""): unknown {
  return JSON.parse(/'(.*)'/.exec(fix)?.[1] ?? "");
}

it("OP-4 bench says how to allow deletions, also where there are no options", () => {
  const { mountOptions: _, ...spec } = volume().spec;
  expect(patched(readsOnly({ ...volume(), spec })?.fix)).toEqual([
    { op: "add", path: "/spec/mountOptions", value: ["allow-delete"] },
  ]);
  expect(patched(readsOnly(volume({ mountOptions: ["debug"] }))?.fix)).toEqual([
    { op: "add", path: "/spec/mountOptions/-", value: "allow-delete" },
  ]);
  expect(readsOnly(volume({ mountOptions: [] }))?.fix).toContain("workloads may then delete files, too");
  expect(readsOnly(undefined)?.because).toContain("may not read the PersistentVolume");
});
