/** What Prometheus sees of the work of a volume: the counts are those of the object store. */
import { expect, it } from "vitest";
import { openCluster, type PodRef } from "../support/cluster.ts";
import { reconcilerPod } from "../support/installed-reconciler.ts";
import { pluginPod, replacePlugin } from "../support/node-plugin.ts";
import { S3Recorder } from "../support/s3-recorder.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 500 };
const files = 20;
const bytes = 3000;

it("OP-3 known work gives the counts that the object store has, labelled with the claim, and they go with the volume", async () => {
  await using sandbox = await cluster.sandbox();
  await using recorder = await S3Recorder.open(cluster);
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  const write = `for n in $(seq ${files}); do head -c ${bytes} /dev/zero > /data/$n; done`;
  await cluster.exec(
    pod,
    `${write}; for n in $(seq ${files}); do cat /data/$n > /dev/null; done; cat /data/none; true`,
  );

  const asked = () => recorder.requests.filter(({ path }) => path.startsWith(`/${sandbox.bucket}`)).length;
  const of = (metric: string, more = "") => sumOf(claim, `s3_csi_volume_${metric}`, more);
  await expect.poll(() => of("bytes_total", 'operation="write"'), long).toBe(files * bytes);
  await expect.poll(() => of("bytes_total", 'operation="read"'), long).toBe(files * bytes);
  await expect.poll(async () => (await of("s3_requests_total")) - asked(), long).toBe(0);
  expect(await of("s3_errors_total", 'code="404"')).toBeGreaterThan(0);
  expect(await of("file_errors_total")).toBeGreaterThan(0);
  expect(await of("memory_bytes")).toBeGreaterThan(1e6);
  const lines = await linesOf(claim);
  expect(lines.length).toBeLessThanOrEqual(40);
  for (const line of lines) {
    expect(line).toContain(`node="${node}",namespace="${sandbox.name}",persistentvolumeclaim="${claim}"`);
  }

  // A restart of the node plugin loses nothing: mount-s3 reports what it did since its start.
  await replacePlugin(cluster, node);
  await expect.poll(() => of("bytes_total", 'operation="write"'), long).toBe(files * bytes);

  await cluster.deletePod(pod);
  await expect.poll(() => linesOf(claim), long).toEqual([]);
});

it("OP-3 figures of mount-s3 are reachable neither from workloads nor on the node", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  await expect.poll(() => linesOf(claim), long).not.toEqual([]);
  const [attachment] = await cluster.list<{ spec: { mountpointS3PodAttachments: object } }>(
    "s3pa",
    "--field-selector",
    `spec.persistentVolumeName=${claim}`,
  );
  const [name = ""] = Object.keys(attachment?.spec.mountpointS3PodAttachments ?? {});
  const address = await addressOf({ namespace: "mount-s3", name });
  const refused = await cluster.exec(pod, `nc -w 2 ${address} 4318 < /dev/null && echo open || echo closed`);
  expect(refused).toBe("closed\n");
  // A port that is open is seen.
  const open = await addressOf(await reconcilerPod(cluster));
  expect(await cluster.exec(pod, `nc -w 2 ${open} 9809 < /dev/null && echo open || echo closed`)).toBe("open\n");
});

async function addressOf({ namespace, name }: PodRef): Promise<string> {
  const pod = await cluster.get<{ status: { podIP: string } }>("pod", name, "-n", namespace);
  return pod?.status.podIP ?? "";
}

/** The series of a volume, as its node serves them. */
async function linesOf(volume: string): Promise<readonly string[]> {
  const { namespace, name } = await pluginPod(cluster, node);
  const text = await cluster.kubectl("get", "--raw", `/api/v1/namespaces/${namespace}/pods/${name}:9808/proxy/metrics`);
  return text.split("\n").filter((line) => line.includes(`persistentvolume="${volume}"`));
}

async function sumOf(volume: string, metric: string, more: string): Promise<number> {
  const lines = (await linesOf(volume)).filter((line) => line.startsWith(`${metric}{`) && line.includes(more));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}
