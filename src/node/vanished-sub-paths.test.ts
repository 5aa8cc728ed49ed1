import { expect, it } from "vitest";
import { FakeKernel } from "../../test/support/fake-kernel.ts";
import { mountDevice, type PodUid } from "../core/names.ts";
import type { Mount } from "../linux/mountinfo.ts";
import type { Call } from "../runtime/call.ts";
import { silentLogger } from "../runtime/log.ts";
import { detachVanished, vanishedSubPaths } from "./vanished-sub-paths.ts";

const kubeletDir = "/var/lib/kubelet";
const workload = "a4509011-bd2a-4f37-b1b0-05d715087852" as PodUid;
const mountPoint = `${kubeletDir}/pods/${workload}/volume-subpaths/data/app/0`;
const subPath: Mount = {
  ...{ id: 200, parentId: 1, major: 0, minor: 45, readOnly: false },
  ...{ root: "/logs//deleted", mountPoint, fsType: "fuse", device: mountDevice },
};

it("LC-25 finds subPaths of ours whose directory was deleted, and nothing else", () => {
  const others: readonly Mount[] = [
    { ...subPath, root: "/logs" },
    { ...subPath, root: "/logs/deleted" },
    { ...subPath, fsType: "ext4", device: "/dev/vda" },
    { ...subPath, mountPoint: `${kubeletDir}/pods/${workload}/volumes/kubernetes.io~csi/data/mount` },
    { ...subPath, mountPoint: "/var/log/pods" },
  ];
  expect(vanishedSubPaths([...others, subPath], kubeletDir)).toEqual([{ mount: subPath, workload }]);
});

it.for([
  { what: "while a process of the Pod runs", processes: true, unattached: true, detached: false },
  { what: "once none does", processes: false, unattached: false, detached: true },
  { what: "whose processes are not seen, while it is attached", unattached: false, detached: false },
  { what: "whose processes are not seen, once it is not", unattached: true, detached: true },
])("LC-25 a vanished subPath of a Pod $what: detached is $detached", ({ processes, unattached, detached }) => {
  const kernel = new FakeKernel();
  kernel.table = [subPath];
  kernel.sees = processes;
  const attachments = { isUnattached: () => unattached };
  const call: Call = { signal: new AbortController().signal, log: silentLogger };
  detachVanished(call, { kernel, attachments, config: { kubeletDir } });
  expect(kernel.table).toEqual(detached ? [] : [subPath]);
});
