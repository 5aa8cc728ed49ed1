import { expect, it } from "vitest";
import { FakeKernel } from "../../test/support/fake-kernel.ts";
import { call } from "../../test/support/fake-node.ts";
import { mountDevice, type PodUid } from "../core/names.ts";
import type { Mount } from "../linux/mountinfo.ts";
import { detachIfVanished, leftSubPaths } from "./vanished-sub-paths.ts";

const kubeletDir = "/var/lib/kubelet";
const workload = "a4509011-bd2a-4f37-b1b0-05d715087852" as PodUid;
const mountPoint = `${kubeletDir}/pods/${workload}/volume-subpaths/data/app/0`;
const mount: Mount = {
  ...{ id: 200, parentId: 1, major: 0, minor: 45, readOnly: false },
  ...{ root: "/logs", mountPoint, fsType: "fuse", device: mountDevice },
};

/** A Pod that has ended, unless the row says otherwise. */
function nodeWith(mounts: readonly Mount[], but: { processes?: boolean | undefined; isUnattached?: boolean } = {}) {
  const { processes, isUnattached = true } = { processes: false, ...but };
  const kernel = new FakeKernel();
  kernel.table = mounts;
  kernel.sees = processes;
  return { kernel, attachments: { isUnattached: () => isUnattached }, config: { kubeletDir } };
}

it("LC-25 finds subPaths of ours, and nothing else", () => {
  const others: readonly Mount[] = [
    { ...mount, fsType: "ext4", device: "/dev/vda" },
    { ...mount, mountPoint: `${kubeletDir}/pods/${workload}/volumes/kubernetes.io~csi/data/mount` },
    { ...mount, mountPoint: "/var/log/pods" },
  ];
  expect(leftSubPaths(nodeWith([...others, mount]))).toEqual([{ mount, workload }]);
});

it.for([
  { what: "while it is attached", isUnattached: false, isLeft: false },
  { what: "while one of its processes runs", processes: true, isLeft: false },
  { what: "once none runs", processes: false, isLeft: true },
  { what: "where processes are not seen", processes: undefined, isLeft: true },
])("LC-25 a subPath of a Pod $what: left is $isLeft", ({ isLeft, what: _what, ...but }) => {
  expect(leftSubPaths(nodeWith([mount], but)).length > 0).toBe(isLeft);
});

it.for([true, false])("LC-25 a subPath that was left, vanished: %s, is detached accordingly", async (isVanished) => {
  const node = nodeWith([mount]);
  node.kernel.vanished = isVanished;
  await detachIfVanished(call, node, { mount, workload });
  expect(node.kernel.table).toEqual(isVanished ? [] : [mount]);
});

it("LC-25 what was mounted there meanwhile stays", async () => {
  const node = nodeWith([{ ...mount, id: 201 }]);
  node.kernel.vanished = true;
  await detachIfVanished(call, node, { mount, workload });
  expect(node.kernel.table).toHaveLength(1);
});
