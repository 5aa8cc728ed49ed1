/**
 * What the driver costs on a node: memory of the node plugin after its start, idle, and after many publish/unpublish
 * pairs; memory in a Mountpoint Pod beside mount-s3; how long publishing on a shared mount takes, also right after the
 * page-out; and how long a Mountpoint Pod outlives its last workload.
 */
import type { PodUid, PvName } from "../../src/core/names.ts";
import { VolumeCapability_AccessMode_Mode as Mode, NodeService } from "../../src/csi/gen/csi.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import { targetPath } from "../../src/node/domain/target-path.ts";
import { openCluster, type PodRef, type Sandbox } from "../../test/support/cluster.ts";
import { csiClient } from "../../test/support/csi-client.ts";
import { csiSocketOf, mountS3Of } from "../../test/support/mount-s3-process.ts";
import { figuresOf, nodePluginOn, nodeToMeasure, restartNodePlugins, untilPagedOut } from "../measured-plugin.ts";
import { percentile, table } from "../table.ts";
import { WatchedPods } from "../watched-pods.ts";

const pairs = Number(process.argv[2] ?? 1000);
const endings = Number(process.argv[3] ?? 10);
/** With a grace period, because without one the object goes before kubelet has taken the volume from the container. */
const endsWhenAsked = {
  terminationGracePeriodSeconds: 30,
  command: ["sh", "-c", "trap exit TERM; sleep 2147483647 & wait"],
};

const cluster = openCluster();
const node = await nodeToMeasure(cluster);
const where = { cluster, node };

await using sandbox = await cluster.sandbox();
const claim = await sandbox.volume();
const workload = await sandbox.pod("app", { node, claim });
await cluster.untilReady(workload);

await restartNodePlugins(cluster);
const plugin = await nodePluginOn(cluster, node);
const { residentKb: started } = await figuresOf(where, plugin.metadata.uid);
await untilPagedOut(cluster, plugin);
const { residentKb: idle } = await figuresOf(where, plugin.metadata.uid);

using driver = csiClient(NodeService, csiSocketOf(cluster, node));
const request = await publishRequest(workload, claim);
const first = await pair();
const times: number[] = [];
for (let made = 0; made < pairs; made += 1) times.push(await pair());
const { residentKb: busy } = await figuresOf(where, plugin.metadata.uid);

const { uid } = await mountS3Of(cluster, node, claim);
const { residentKb: beside } = await figuresOf(where, uid, "mount-s3");
const ended: number[] = [];
for (let round = 0; round < endings; round += 1) ended.push(await timeToEnd(sandbox, `end-${round}`));

const mb = (kb: number) => (kb / 1024).toFixed(1);
const ms = (value: number) => value.toFixed(1);
process.stdout.write(`${pairs} pairs and ${endings} ends on ${node}\n`);
process.stdout.write(
  table([
    { what: "node plugin, right after its start, RSS", figure: `${mb(started)} MB` },
    { what: "node plugin, idle, after the page-out, RSS", figure: `${mb(idle)} MB` },
    { what: `node plugin, after ${pairs} publish/unpublish pairs, RSS`, figure: `${mb(busy)} MB` },
    { what: "in a Mountpoint Pod beside mount-s3, RSS", figure: `${mb(beside)} MB` },
    { what: "publish on a shared mount, the first after the page-out", figure: `${ms(first)} ms` },
    { what: "publish on a shared mount, median", figure: `${ms(percentile(times, 50))} ms` },
    { what: "publish on a shared mount, p99", figure: `${ms(percentile(times, 99))} ms` },
    { what: "last workload gone → Mountpoint Pod deleted, median", figure: `${ms(percentile(ended, 50))} ms` },
    { what: "last workload gone → Mountpoint Pod deleted, p95", figure: `${ms(percentile(ended, 95))} ms` },
  ]),
);

async function publishRequest(pod: PodRef, volume: string) {
  const bucketName = sandbox.bucket;
  const podUid = ((await cluster.get<Pod>("pod", pod.name, "-n", pod.namespace))?.metadata.uid ?? "") as PodUid;
  return {
    volumeId: volume,
    targetPath: targetPath("/var/lib/kubelet", { workload: podUid, persistentVolume: volume as PvName }),
    publishContext: {},
    stagingTargetPath: "",
    volumeCapability: {
      accessMode: { mode: Mode.MULTI_NODE_MULTI_WRITER },
      accessType: { $case: "mount", value: { fsType: "", mountFlags: [], volumeMountGroup: "" } },
    },
    readonly: false,
    secrets: {},
    volumeContext: { bucketName },
  } as const;
}

/** What kubelet does when it takes a workload's volume away and gives it back; the container keeps its own mount. */
async function pair(): Promise<number> {
  const { volumeId, targetPath: at } = request;
  await driver.nodeUnpublishVolume({ volumeId, targetPath: at });
  const startedMs = performance.now();
  await driver.nodePublishVolume(request);
  return performance.now() - startedMs;
}

/** Both ends as a watch sees them. */
async function timeToEnd(from: Sandbox, name: string): Promise<number> {
  const volume = await from.volume();
  const pod = await from.pod(name, { node, claim: volume, ...endsWhenAsked });
  await cluster.untilReady(pod);
  const server = await mountS3Of(cluster, node, volume);
  await using pods = new WatchedPods(cluster);
  const mountpointPod = { namespace: "mount-s3", name: server.name };
  await Promise.all([pod, mountpointPod].map((each) => pods.until(each, isThere)));
  const deletedMs = pods.until(mountpointPod, isGone);
  const goneMs = pods.until(pod, isGone);
  await cluster.kubectl("delete", "pod", pod.name, "-n", pod.namespace, "--wait=false");
  return (await deletedMs) - (await goneMs);
}

function isThere(pod: Pod | undefined): boolean {
  return pod !== undefined;
}

function isGone(pod: Pod | undefined): boolean {
  return pod === undefined;
}
