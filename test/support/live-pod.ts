/** Pods that read and write without end while something changes around them. Whatever fails is in their log, which stays empty. */
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { expect } from "vitest";
import type { Cluster, PodRef, Sandbox } from "./cluster.ts";
import { objectText } from "./traces.ts";

const long = { timeout: 240_000, interval: 500 };

const blockBytes = 8192;
const blocks = 2000;

interface InStore {
  readonly cluster: Pick<Cluster, "s3">;
  readonly bucket: string;
}

/** What the Pods read: each block says which one it is. */
export async function putBlocks({ cluster, bucket }: InStore): Promise<void> {
  const numbers = Array.from({ length: blocks }, (_, number) => String(number).padStart(blockBytes));
  await cluster.s3.send(new PutObjectCommand({ Bucket: bucket, Key: "blocks", Body: numbers.join("") }));
}

/**
 * Three loops: new files that are read back and deleted; one file that stays open and is read slowly; one that stays open and
 * is written slowly, by a single process, until /tmp/finish is there. Needs the option allow-delete.
 */
export const live = [
  "sh",
  "-c",
  `own=/data/$(hostname)
   failed() { echo "FAILED: $*"; }
   {
     n=0
     while true; do
       n=$((n + 1))
       echo $n > $own-$n && [ "$(cat $own-$n)" = $n ] && rm $own-$n || failed to write $n
       echo $n > /tmp/written
       sleep 0.3
     done
   } &
   {
     n=0
     while true; do
       exec 3< /data/blocks || failed to open
       block=0
       while [ $block -lt ${blocks} ]; do
         [ "$(dd bs=${blockBytes} count=1 <&3 2>/dev/null)" = "$(printf %${blockBytes}d $block)" ] || failed to read $block
         block=$((block + 1)) n=$((n + 1))
         echo $n > /tmp/read
         sleep 0.3
       done
     done
   } &
   n=0
   while [ ! -e /tmp/finish ]; do n=$((n + 1)); echo $n; echo $n > /tmp/appended; sleep 0.3; done |
     dd of=$own-slow 2> /tmp/said || failed to append: $(cat /tmp/said)
   touch /tmp/finished
   wait`,
];

/** Waits until each loop has come further than it is now, and nothing has failed. */
export async function goesOn(cluster: Cluster, pod: PodRef): Promise<void> {
  const before = await countsOf(cluster, pod);
  const isFurther = async () => (await countsOf(cluster, pod)).map((count, loop) => count > (before[loop] ?? 0));
  await expect.poll(isFurther, long).toEqual(before.map(() => true));
  await hasNotFailed(cluster, pod);
}

/**
 * Closes the file that was open for writing since the Pod began: what is in the bucket then is complete. `read` is for a bucket of another
 * store than the default one.
 */
export async function finishes(
  sandbox: Sandbox,
  pod: PodRef,
  read = (key: string): Promise<string | undefined> => objectText(sandbox, key),
): Promise<void> {
  const { cluster } = sandbox;
  await cluster.exec(pod, "touch /tmp/finish");
  await expect.poll(() => cluster.exec(pod, "ls /tmp"), long).toContain("finished");
  const appended = Number(await cluster.exec(pod, "cat /tmp/appended"));
  const lines = Array.from({ length: appended }, (_, number) => `${number + 1}\n`);
  expect(await read(`${pod.name}-slow`)).toBe(lines.join(""));
  await hasNotFailed(cluster, pod);
}

async function hasNotFailed(cluster: Cluster, { namespace, name }: PodRef): Promise<void> {
  expect(await cluster.kubectl("logs", "-n", namespace, name)).toBe("");
}

/** A Pod that has just begun has no files yet. */
async function countsOf(cluster: Cluster, pod: PodRef): Promise<readonly number[]> {
  const show = 'for file in written read appended; do echo "0$(cat /tmp/$file)"; done';
  return (await cluster.exec(pod, show)).trim().split("\n").map(Number);
}
