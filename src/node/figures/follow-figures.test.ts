import { beforeEach, expect, it } from "vitest";
import { call, FakeNode, podOf } from "../../../test/support/fake-node.ts";
import type { PodUid } from "../../core/names.ts";
import { sourcePath } from "../domain/target-path.ts";
import { FigureReceivers } from "./figure-receivers.ts";
import { FigureFollower } from "./follow-figures.ts";

const pods = ["mp-1", "mp-2"].map((name) => podOf({ name: name as never, uid: `uid-of-${name}` as PodUid }));

let node: FakeNode;
let passes: string[][];
let opened: [string, readonly number[]][];
let follower: FigureFollower;

beforeEach(() => {
  node = new FakeNode();
  node.knows(undefined);
  [passes, opened] = [[], []];
  const networks = {
    find: async (uids: ReadonlySet<PodUid>) => {
      passes.push([...uids]);
      return new Map([...uids].map((uid) => [uid, [7]]));
    },
    open: async (uid: PodUid, processes: readonly number[]) => {
      opened.push([uid, processes]);
      throw new Error("the network cannot be entered");
    },
  };
  const { mountpointPods } = node.cluster;
  follower = new FigureFollower({ receivers: new FigureReceivers(), networks, mounts: node.mounts, mountpointPods });
  return () => node[Symbol.dispose]();
});

function serves(pod: (typeof pods)[number]): void {
  node.put(pod);
  const source = sourcePath("/kubelet", pod.name);
  node.kernel.makeDirectory(source);
  using device = node.kernel.openFuse();
  node.kernel.mountFuse(device, source);
}

it("OP-3 reads the processes once for all mounts, and not again for those that failed until a minute has passed", async () => {
  for (const pod of pods) serves(pod);
  await follower.look(call, 0);
  expect(passes).toEqual([["uid-of-mp-1", "uid-of-mp-2"]]);
  expect(opened).toEqual([
    ["uid-of-mp-1", [7]],
    ["uid-of-mp-2", [7]],
  ]);
  await follower.look(call, 30_000);
  expect(passes).toHaveLength(1);
  await follower.look(call, 61_000);
  expect(passes).toHaveLength(2);
});

it("OP-3 looks for no process while every mount is known, or none exports", async () => {
  await follower.look(call, 0);
  serves(podOf({ isLegacy: true }));
  await follower.look(call, 0);
  expect(passes).toEqual([]);
});

it("OP-3 makes one pass at a time", async () => {
  for (const pod of pods) serves(pod);
  await Promise.all([follower.look(call, 0), follower.look(call, 0)]);
  expect(passes).toHaveLength(1);
});
