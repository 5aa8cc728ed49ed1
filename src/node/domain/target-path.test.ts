import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { PodName, PodUid, PvName } from "../../core/names.ts";
import { commDir, parseTargetPath, pluginDir, sourcePath, sourcesDir, targetPath } from "./target-path.ts";

const root = "/var/lib/kubelet";
const workload = "a4509011-bd2a-4f37-b1b0-05d715087852" as PodUid;
const target = `${root}/pods/${workload}/volumes/kubernetes.io~csi/test-vol/mount`;

it.for([
  [root, target],
  [`${root}/`, target],
  [root, `${target}/`],
  ["/var/snap/microk8s/common/var/lib/kubelet", target.replace(root, "/var/snap/microk8s/common/var/lib/kubelet")],
] as const)("under %s reads %s", ([kubeletDir, path]) => {
  expect(parseTargetPath(kubeletDir, path)).toEqual({ workload, persistentVolume: "test-vol" });
});

it.for([
  "",
  "/tmp/mount",
  target.replace(root, "/var/lib/k0s/kubelet"),
  `${root}-other${target.slice(root.length)}`,
  target.replace("kubernetes.io~csi", "kubernetes.io~empty-dir"),
  target.replace("/mount", "/vol_data.json"),
  target.replace("/test-vol", ""),
  `${target}/deeper`,
  `${root}/pods/../../../../etc/volumes/kubernetes.io~csi/x/mount`,
])("refuses %j and says what to set", (path) => {
  expect(() => parseTargetPath(root, path)).toThrow(
    expect.objectContaining({ kind: "invalid", hint: expect.stringContaining("node.kubeletPath") }),
  );
});

it("builds the path that it parses", () => {
  const element = fc.stringMatching(/^[a-z0-9][-.a-z0-9]{0,252}$/);
  fc.assert(
    fc.property(element, element, (uid, name) => {
      const both = { workload: uid as PodUid, persistentVolume: name as PvName };
      expect(parseTargetPath(root, targetPath(root, both))).toEqual(both);
    }),
  );
  expect(targetPath(root, { workload, persistentVolume: "test-vol" as PvName })).toBe(target);
});

it("uses the paths of 2.x, with or without a trailing slash of the root", () => {
  for (const kubeletDir of [root, `${root}/`]) {
    expect(pluginDir(kubeletDir)).toBe("/var/lib/kubelet/plugins/s3.csi.scality.com");
    expect(sourcesDir(kubeletDir)).toBe("/var/lib/kubelet/plugins/s3.csi.scality.com/mnt");
    expect(sourcePath(kubeletDir, "mp-a" as PodName)).toBe("/var/lib/kubelet/plugins/s3.csi.scality.com/mnt/mp-a");
    expect(commDir(kubeletDir, workload)).toBe(
      `/var/lib/kubelet/pods/${workload}/volumes/kubernetes.io~empty-dir/comm`,
    );
  }
});
