import { expect, it } from "vitest";
import { FakeKernel } from "../../../test/support/fake-kernel.ts";
import { call } from "../../../test/support/fake-node.ts";
import { mountDevice, type PodUid } from "../../core/names.ts";
import { fuseDevice } from "../../linux/device-id.ts";
import type { Mount } from "../../linux/mounts/mountinfo.ts";
import { nodeMounts } from "./node-mounts.ts";
import { detachVanished, orphanedSubPaths } from "./vanished-sub-paths.ts";

const kubeletDir = "/var/lib/kubelet";
const workload = "a4509011-bd2a-4f37-b1b0-05d715087852" as PodUid;
const mountPoint = `${kubeletDir}/pods/${workload}/volume-subpaths/data/app/0`;
const mount: Mount = {
  ...{ id: 200, parentId: 1, deviceId: fuseDevice(45), readOnly: false },
  ...{ root: "/logs", mountPoint, fsType: "fuse", device: mountDevice },
};

/** A terminated Pod, unless the row says otherwise. */
function nodeWith(
  table: readonly Mount[],
  but: { running?: readonly string[] | undefined; isUnattached?: boolean } = {},
) {
  const { running, isUnattached = true } = { running: [], ...but };
  const kernel = new FakeKernel();
  kernel.table = table;
  kernel.running = running && new Set(running);
  return { kernel, mounts: nodeMounts(kubeletDir, kernel), attachments: { isUnattached: () => isUnattached } };
}

it("LC-25 finds subPaths of the driver, and no other mounts", () => {
  const others: readonly Mount[] = [
    { ...mount, fsType: "ext4", device: "/dev/vda" },
    { ...mount, mountPoint: `${kubeletDir}/pods/${workload}/volumes/kubernetes.io~csi/data/mount` },
    { ...mount, mountPoint: "/var/log/pods" },
  ];
  expect(orphanedSubPaths(nodeWith([...others, mount]))).toEqual(new Map([[workload, [mount]]]));
});

it.for([
  { what: "that is attached", isUnattached: false, isOrphaned: false },
  { what: "with a running process", running: [workload], isOrphaned: false },
  { what: "without a running process", running: ["another"], isOrphaned: true },
  { what: "whose processes are not visible", running: undefined, isOrphaned: true },
])("LC-25 a subPath of a Pod $what is orphaned: $isOrphaned", ({ isOrphaned, what: _what, ...but }) => {
  expect(orphanedSubPaths(nodeWith([mount], but)).size > 0).toBe(isOrphaned);
});

it.for([true, false])("LC-25 an orphaned subPath is detached if its directory vanished: %s", async (isVanished) => {
  const node = nodeWith([mount]);
  node.kernel.vanished = isVanished;
  await detachVanished(call, node, workload, [mount]);
  expect(node.kernel.table).toEqual(isVanished ? [] : [mount]);
});

it("LC-25 a mount that covers the subPath meanwhile stays", async () => {
  const node = nodeWith([{ ...mount, id: 201 }]);
  node.kernel.vanished = true;
  await detachVanished(call, node, workload, [mount]);
  expect(node.kernel.table).toHaveLength(1);
});

it("LC-25 a Pod whose process appears meanwhile keeps its mount", async () => {
  const node = nodeWith([mount]);
  node.kernel.hasVanished = async () => {
    node.kernel.running = new Set([workload]);
    return true;
  };
  await detachVanished(call, node, workload, [mount]);
  expect(node.kernel.table).toEqual([mount]);
});

it("SE-9 reads the processes once for a thousand subPaths of a hundred Pods", () => {
  const many = Array.from({ length: 1000 }, (_, id) =>
    Object.assign({}, mount, { id, mountPoint: `${kubeletDir}/pods/pod-${id % 100}/volume-subpaths/data/app/${id}` }),
  );
  const node = nodeWith(many);
  let passes = 0;
  node.kernel.podsWithProcesses = () => {
    passes += 1;
    return new Set();
  };
  expect([orphanedSubPaths(node).size, passes]).toEqual([100, 1]);
});
