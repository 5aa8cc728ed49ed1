import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { call, FakeNode, intentOf, mountpointPod, podOf, target, workload } from "../../../test/support/fake-node.ts";
import { publish } from "./publish.ts";
import { volumeStats } from "./volume-stats.ts";

const request = { volumeId: "photos", volumePath: target };

let node: FakeNode;

beforeEach(async () => {
  node = new FakeNode().knows(podOf(), workload);
  await publish(call, node.rooms.publishing, intentOf());
});

afterEach(() => {
  vi.useRealTimers();
  node[Symbol.dispose]();
});

it("a mount that serves is normal, and its usage is an entry of zeros", async () => {
  await expect(volumeStats(call, node.rooms.publishing, request)).resolves.toEqual({
    usage: [{ unit: 1, total: 0n, used: 0n, available: 0n }],
    volumeCondition: { abnormal: false, message: "mount-s3 answers" },
  });
});

it.for([
  { state: "dead", says: /has ended/ },
  { state: "hung", says: /does not answer/ },
] as const)(
  "a mount-s3 that is $state is abnormal, with the reason and where to look, within two seconds",
  async (row) => {
    vi.useFakeTimers();
    node.kernel.server(target, row.state);
    const asked = volumeStats(call, node.rooms.publishing, request);
    await vi.advanceTimersByTimeAsync(1999);
    const { volumeCondition } = await asked;
    expect(volumeCondition).toMatchObject({ abnormal: true, message: expect.stringMatching(row.says) });
    expect(volumeCondition?.message).toContain(`kubectl logs -n mount-s3 ${mountpointPod}`);
  },
);

it("the mount table is read once for the many volumes that kubelet asks about at once", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const reads = vi.spyOn(node.kernel, "mounts");
  for (let asked = 0; asked < 20; asked += 1) await volumeStats(call, node.rooms.publishing, request);
  expect(reads).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1001);
  await volumeStats(call, node.rooms.publishing, request);
  expect(reads).toHaveBeenCalledTimes(2);
});

it("finds a volume that was published since the table was read", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  await volumeStats(call, node.rooms.publishing, request);
  const other = target.replace(workload, "another");
  node.kernel.table = [...node.kernel.table, { ...published(), mountPoint: other }];
  await expect(volumeStats(call, node.rooms.publishing, { ...request, volumePath: other })).resolves.toMatchObject({
    volumeCondition: { abnormal: false },
  });
});

function published() {
  const mount = node.kernel.at(target);
  if (mount === undefined) throw new Error("it is published");
  return mount;
}

describe("refuses", () => {
  it.for([
    { volumeId: "", volumePath: target, kind: "invalid", field: "volume_id" },
    { volumeId: "photos", volumePath: "", kind: "invalid", field: "volume_path" },
    { volumeId: "photos", volumePath: `${target}/below`, kind: "missing", field: `${target}/below` },
    { volumeId: "photos", volumePath: "some/path", kind: "missing", field: "some/path" },
  ])("volume id '$volumeId' at '$volumePath' as $kind", async ({ kind, field, ...asked }) => {
    await expect(volumeStats(call, node.rooms.publishing, asked)).rejects.toMatchObject({
      kind,
      message: expect.stringContaining(field),
    });
  });

  it("a path with a mount of another file system", async () => {
    node.kernel.makeDirectory("/elsewhere");
    node.kernel.makeDirectory("/disk");
    node.kernel.bind("/disk", "/elsewhere");
    await expect(
      volumeStats(call, node.rooms.publishing, { volumeId: "photos", volumePath: "/elsewhere" }),
    ).rejects.toMatchObject({ kind: "missing" });
  });
});
