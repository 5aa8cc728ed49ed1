/**
 * How fast data moves through a volume in a Pod, beside a bare mount-s3 on the same node and bucket, in turns in one
 * run: one file written and read as a whole, with the same program for both.
 */
import { rootAccount } from "../../lab/s3.ts";
import { startMountS3 } from "../../test/support/bare-mount-s3.ts";
import { openCluster } from "../../test/support/cluster.ts";
import { onNode } from "../../test/support/mount-s3-process.ts";
import { percentile, table } from "../table.ts";

const megabytes = Number(process.argv[2] ?? 256);
const rounds = Number(process.argv[3] ?? 5);

const cluster = openCluster();
const node = cluster.lab.nodes[0]?.name ?? "worker-1";
await using sandbox = await cluster.sandbox();
const claim = await sandbox.volume();
const pod = await sandbox.pod("app", { node, claim });
await cluster.untilReady(pod);

const bare = `/run/bench-${sandbox.name}`;
await using _bare = await bareMount();
const places = {
  "in a Pod": { directory: "/data", shell: (script: string) => cluster.exec(pod, script) },
  "bare mount-s3": { directory: bare, shell: (script: string) => onNode(cluster, node, "busybox", "sh", "-c", script) },
};
type Place = (typeof places)[keyof typeof places];

const figures = new Map(Object.keys(places).map((name) => [name, { write: [] as number[], read: [] as number[] }]));
for (let round = 0; round < rounds; round += 1) {
  for (const [name, place] of Object.entries(places)) {
    const file = `${place.directory}/${name.replaceAll(" ", "-")}-${round}`;
    figures.get(name)?.write.push(await speed(place, `dd if=/dev/zero of=${file} bs=1M count=${megabytes}`));
    figures.get(name)?.read.push(await speed(place, `dd if=${file} of=/dev/null bs=1M`));
  }
}

process.stdout.write(`${rounds} rounds of ${megabytes} MB on ${node}, median\n`);
process.stdout.write(
  table(
    [...figures].map(([where, { write, read }]) => ({
      where,
      "write MB/s": percentile(write, 50),
      "read MB/s": percentile(read, 50),
    })),
  ),
);

/** Measured there, without the way to the shell; close is part of it, and with that the whole upload. */
async function speed({ shell }: Place, copy: string): Promise<number> {
  const clock = "cut -d' ' -f1 /proc/uptime";
  const [from = "", to = ""] = (await shell(`${clock}; ${copy} 2> /dev/null && ${clock}`)).trim().split("\n");
  return megabytes / Math.max(Number(to) - Number(from), 0.01);
}

async function bareMount(): Promise<AsyncDisposable> {
  const { accessKeyId, secretAccessKey } = rootAccount;
  const env = [`AWS_ACCESS_KEY_ID=${accessKeyId}`, `AWS_SECRET_ACCESS_KEY=${secretAccessKey}`];
  await startMountS3(cluster, { node, bucket: sandbox.bucket, directory: bare, env });
  return {
    [Symbol.asyncDispose]: async () => {
      await onNode(cluster, node, "umount", "-l", bare);
      await onNode(cluster, node, "rmdir", bare);
    },
  };
}
