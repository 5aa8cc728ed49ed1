/** Dead mounts are replaced by living ones, on the real kernel. */
import { expect, it } from "vitest";
import { scaled } from "../support/scale.ts";
import { scenariosOf } from "./fuse-scenarios.ts";

const observe = scenariosOf("swap");

it("puts a living mount in the place of a dead one, here and in another namespace, and leaves nothing behind", async () => {
  await expect(observe("swapped")).resolves.toEqual({
    errorsBefore: ["ENOTCONN", "ENOTCONN"],
    result: { places: 4, failures: [] }, // the target here; there the source and two binds, and not the copy of the target
    errors: [null, null, "EROFS"],
    again: { places: 0, failures: [] },
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

it("SE-9 a Pod with more mounts than anybody needs is not healed there and told so; its container and other Pods are", async () => {
  const seen = (await observe("manyMounts")) as { hostileMounts: number };
  expect(seen.hostileMounts).toBeGreaterThan(10_000);
  const because = "the mount table has more than 10000 mounts, or more than 2097152 bytes";
  expect(seen).toMatchObject({
    failures: [{ workload: "hostile", mountPoint: "/", because, isUnsafe: false }],
    errors: ["none", "none"],
  });
});

it("LC-22 finds a dead device again that only a container has, and takes neither a living one nor one that is gone for it", async () => {
  await expect(observe("heldDead")).resolves.toEqual({ ofDead: true, ofLiving: false, afterTheContainer: false });
});

it("does the same on kernels that cannot put a mount beneath another", async () => {
  await expect(observe("swappedOnOldKernel")).resolves.toEqual({ errors: [null, null], noexec: [true, true] });
});
