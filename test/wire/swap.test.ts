/** Dead mounts are replaced by living ones, on the real kernel. */
import { expect, it } from "vitest";
import { scaled } from "../support/scale.ts";
import { scenariosOf } from "./fuse-scenarios.ts";

const observe = scenariosOf("swap");

it("replaces a dead mount by a living one, in its own and another namespace, and leaks nothing", async () => {
  await expect(observe("swapped")).resolves.toEqual({
    errorsBefore: ["ENOTCONN", "ENOTCONN"],
    result: { replaced: 4, failures: [] }, // the target here; there the source and two binds, and not the copy of the target
    errors: [null, null, "EROFS"],
    again: { replaced: 0, failures: [] },
    grownBy: 0,
  });
});

const containers = scaled("containers that exchange directories", 30, 1000);

it.for(["exchanged", "exchangedOnOldKernel"])(
  `SE-8 ${containers} containers that exchange directories while they are healed keep their other mounts: %s`,
  { timeout: 60_000 + containers * 2000 },
  async (scenario) => {
    const seen = await observe(scenario, { CONTAINERS: String(containers) });
    expect(seen).toEqual({ healed: containers, refused: expect.any(Number), othersLost: 0, deadLeft: 0 });
    // Otherwise nothing was exchanged in the moment that counts, and nothing was proven.
    expect((seen as { refused: number }).refused).toBeGreaterThan(0);
  },
);

it("SE-9 a mount table above the limit is reported and not healed; the Pod's container and other Pods are healed", async () => {
  const seen = (await observe("manyMounts")) as { hostileMounts: number };
  expect(seen.hostileMounts).toBeGreaterThan(10_000);
  const because = "the mount table has more than 10000 mounts, or more than 2097152 bytes";
  expect(seen).toMatchObject({
    failures: [{ workload: "hostile", mountPoint: "/", because, isUnsafe: false }],
    errors: ["none", "none"],
    unseen: [{ workload: "hostile", because }],
  });
});

it("LC-23 heals a container whose first process has another root directory", async () => {
  await expect(observe("chrooted")).resolves.toEqual({ seenByFirst: 0, failures: [], error: "none" });
});

it("LC-23 does not report a container as healed whose runtime keeps the dead file system open", async () => {
  const reasons = [expect.stringContaining("containers in gVisor keep the dead file system open")];
  await expect(observe("sandboxed")).resolves.toEqual({ replaced: 0, reasons, isDeadStill: true });
});

it("SE-8 gives containers only the verified mount, even if its path leads to another one", async () => {
  const result = expect.stringContaining("vanished while others were to be healed with it");
  await expect(observe("coveredSource")).resolves.toEqual({ result, devices: ["mountpoint-s3"] });
});

it("SE-9 an attempt ends within its limit while mount-s3 looks up a sub-path, and does not change the mount", async () => {
  await expect(observe("slowPart")).resolves.toEqual({ result: "Error: the attempt is over", dead: 1 });
});

const missing = "the file part of a subPath is not in the bucket";
const otherKind = "what is mounted is a file, and in the bucket there is a directory";

it.for([
  { scenario: "fileMissing", because: missing, isDirectory: false },
  { scenario: "fileMissingBeneath", because: missing, isDirectory: false },
  { scenario: "fileBecameDirectory", because: otherKind, isDirectory: true },
  { scenario: "fileBecameDirectoryBeneath", because: otherKind, isDirectory: true },
])(
  "LC-1 leaves a container the mount of a file that cannot be replaced, says why, and makes nothing in the bucket: $scenario",
  async ({ scenario, because, isDirectory }) => {
    const reasons = [expect.stringContaining(because)];
    await expect(observe(scenario)).resolves.toEqual({ replaced: 0, reasons, mounts: ["dead"], isDirectory });
  },
);

it("LC-1 replaces the mount of a file", async () => {
  const healed = { replaced: 1, reasons: [], mounts: ["living"], isDirectory: false };
  await expect(observe("fileStays")).resolves.toEqual(healed);
});

it("LC-1 a mount that was detached but not replaced is a failure, in this and every later attempt", async () => {
  const reason = expect.stringContaining("could not be mounted in its place");
  await expect(observe("mountLost")).resolves.toEqual({ reasons: [[reason], [reason]], left: 0 });
});

it("LC-22 finds a dead device that only a container has, and does not confuse it with a living or vanished one", async () => {
  await expect(observe("heldDead")).resolves.toEqual({ ofDead: true, ofLiving: false, afterTheContainer: false });
});

it("does the same on kernels without MOVE_MOUNT_BENEATH", async () => {
  await expect(observe("swappedOnOldKernel")).resolves.toEqual({ errors: [null, null], noexec: [true, true] });
});
