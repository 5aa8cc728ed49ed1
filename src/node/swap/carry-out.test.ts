import { expect, it } from "vitest";
import { DriverError } from "../../core/errors.ts";
import type { PodUid } from "../../core/names.ts";
import { MountLost } from "../../linux/mounts/mount-tree.ts";
import { carryOut, type SwapFailure } from "./carry-out.ts";
import { PathHangs, wrongMount } from "./inside-threads.ts";
import type { Refusal, Swap } from "./plan-swaps.ts";

const owner = "owner" as PodUid;

function swapOf(mountPoint: string): Swap {
  return { id: mountPoint.length, mountPoint, root: "/", options: [], propagation: "private" } as unknown as Swap;
}

function errno(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/** Swaps at /a and /bb, of which the first fails. */
async function afterFailure(error: unknown, isStillPlanned: boolean, refusals: readonly Refusal[] = []) {
  const tried: string[] = [];
  const lost: string[] = [];
  const swapped = await carryOut(
    { swaps: [swapOf("/a"), swapOf("/bb")], refusals },
    {
      ownerOf: () => owner,
      isStillPlanned: async () => isStillPlanned,
      onLost: ({ mountPoint }) => void lost.push(mountPoint),
      replace: async ({ mountPoint }) => {
        tried.push(mountPoint);
        if (mountPoint === "/a") throw error;
      },
    },
  );
  return { ...swapped, tried, lost };
}

it.for<{ what: string; error: unknown; isUnsafe?: boolean }>([
  { what: "an error", error: new Error("no") },
  { what: "an error of another kind", error: new DriverError("notReady", "no") },
  { what: "a symbolic link on the path", error: errno("ELOOP"), isUnsafe: true },
  { what: "a directory that was moved out of the root", error: errno("EXDEV"), isUnsafe: true },
  { what: "another mount at the path", error: wrongMount(), isUnsafe: true },
  { what: "another errno", error: errno("EINVAL") },
])("goes on after $what, and reports it as a failure", async ({ error, isUnsafe = false }) => {
  const { replaced, failures, tried } = await afterFailure(error, true);
  expect({ replaced, tried }).toEqual({ replaced: 1, tried: ["/a", "/bb"] });
  expect(failures).toEqual([{ workload: owner, mountPoint: "/a", because: expect.any(String), isUnsafe }]);
});

it("does not report a mount that is gone by now, with its container", async () => {
  const { replaced, failures, lost } = await afterFailure(errno("ENOENT"), false);
  expect({ replaced, failures, lost }).toEqual({ replaced: 1, failures: [], lost: [] });
});

it.for([true, false])(
  "reports and remembers a mount that was lost, planned still or not: %s",
  async (isStillPlanned) => {
    const { failures, lost, tried } = await afterFailure(new MountLost(errno("EINVAL")), isStillPlanned);
    expect(failures).toMatchObject([{ mountPoint: "/a", isUnsafe: false }]);
    expect({ lost, tried }).toEqual({ lost: ["/a"], tried: ["/a", "/bb"] });
  },
);

it("leaves the rest to the next attempt after a path that hangs", async () => {
  const { replaced, failures, tried, lost } = await afterFailure(new PathHangs(), true);
  expect({ replaced, tried, lost }).toEqual({ replaced: 0, tried: ["/a"], lost: [] });
  expect(failures).toMatchObject([{ mountPoint: "/a", isUnsafe: false }]);
});

it("reports what the plan refuses, too, and needs no listener for lost mounts", async () => {
  const refusals = [{ mountPoint: "/c", because: "holds other mounts (/c/d)" }];
  const refused: SwapFailure = {
    workload: owner,
    mountPoint: "/c",
    because: "holds other mounts (/c/d)",
    isUnsafe: false,
  };
  expect((await afterFailure(errno("ENOENT"), false, refusals)).failures).toEqual([refused]);
  const { failures } = await carryOut(
    { swaps: [swapOf("/a")], refusals: [] },
    {
      ownerOf: () => owner,
      isStillPlanned: async () => true,
      replace: () => Promise.reject(new MountLost(new Error("no"))),
    },
  );
  expect(failures).toHaveLength(1);
});
