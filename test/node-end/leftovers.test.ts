/** What the whole node ring left behind: nothing. Runs after all of its files; poll, because much ends in its own time. */
import { expect, it } from "vitest";
import { openCluster } from "../support/cluster.ts";
import { placesWithKeys } from "../support/key-search.ts";
import { onNode } from "../support/mount-s3-process.ts";
import { nodePluginDescriptors } from "../support/node-plugin-process.ts";

const cluster = openCluster();
const nodes = cluster.lab.nodes.map(({ name }) => name);
/** What is cleaned up only as a safety net goes after four minutes. */
const long = { timeout: 300_000, interval: 1000 };

it("no Mountpoint Pod and no attachment is left", async () => {
  await expect.poll(() => cluster.kubectl("get", "pods", "-n", "mount-s3", "-o", "name"), long).toBe("");
  await expect.poll(() => cluster.kubectl("get", "s3pa", "-o", "name"), long).toBe("");
});

it.for(nodes)("no mount, process, directory or file is left on %s", async (node) => {
  const script = [
    "grep -F mountpoint-s3 /proc/1/mountinfo",
    "grep -lx mount-s3 /proc/[0-9]*/comm",
    "ls -A /var/lib/kubelet/plugins/s3.csi.scality.com/mnt",
    "find /var/lib/kubelet/plugins/s3.csi.scality.com -type f",
    "find /var/lib/kubelet/pods -mindepth 4 -maxdepth 4 -path '*/kubernetes.io~csi/*'",
  ];
  const look = () => onNode(cluster, node, "sh", "-c", `${script.join("; ")}; true`);
  await expect.poll(look, long).toBe("");
});

it.for(nodes)(
  "the node plugin of %s holds no FUSE device, no connection to a mounter, no mount and nothing of a Pod",
  async (node) => {
    const descriptors = () => nodePluginDescriptors(cluster, node);
    expect((await descriptors()).length).toBeGreaterThan(3);
    await expect.poll(async () => (await descriptors()).filter(isLeftover), long).toEqual([]);
  },
);

it("no key is in any log, event, object, disk file, environment or argument", async () => {
  expect(await placesWithKeys(cluster)).toEqual([]);
});

/**
 * The client's end of a connection has no name; those to kubelet have ours. A mount that is attached nowhere, and the root
 * of a container, have the name /; a container's mounts are mnt:[…].
 */
function isLeftover(link: string): boolean {
  return /^(\/$|mnt:\[|\/dev\/fuse|\/.*\/pods\/|\/.*\/mnt\/|unnamed socket)/.test(link);
}
