/** A Pod that uses its volume in every way and notes each error, and what may be asked of its Mountpoint Pods. */
import { createHash } from "node:crypto";
import { GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { expect } from "vitest";
import { annotations, labels } from "../../src/core/names.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import { type Cluster, type PodRef, podManifest, type Sandbox } from "./cluster.ts";
import { long } from "./healing.ts";
import { attachmentsOf } from "./mount-s3-process.ts";

/**
 * Never stops, and writes a line into /tmp/errors for everything that fails. `across` and `reader` keep a file open until /tmp/go exists.
 * mount-s3 has not read the end of `large` when its beginning is read, so the rest comes from it after the move.
 */
const strict = (pauseSeconds: number) => `mkdir -p /tmp/seen; : > /tmp/errors
  cp /data/large /tmp/large; [ "$(md5sum < /tmp/large)" = "${checksum}  -" ] || echo "copy" >> /tmp/errors
  untilGo() { while [ ! -e /tmp/go ]; do sleep ${Math.max(pauseSeconds, 0.05)}; done; }
  (echo first; untilGo; echo second) | dd of=/data/open/across bs=64k 2>/tmp/dd && touch /tmp/written || cat /tmp/dd >> /tmp/errors &
  (dd bs=1 count=3 2>/dev/null; untilGo; cat) < /data/large > /tmp/reader 2>>/tmp/errors && touch /tmp/read &
  n=0
  while true; do
    n=$((n + 1))
    ls /data /part /ro > /dev/null 2>>/tmp/errors && echo $n > /tmp/seen/list || echo "list $n" >> /tmp/errors
    for file in /data/before /ro/before; do
      cat $file 2>>/tmp/errors | cmp -s - /tmp/before && echo $n > /tmp/seen/read || echo "read $file $n" >> /tmp/errors
    done
    if [ $((n % 10)) -eq 1 ]; then
      cmp /data/large /tmp/large >> /tmp/errors 2>&1 || echo "sequential read $n" >> /tmp/errors
      block() { dd if=$1 bs=4096 skip=$((n * 37 % ${blocks})) count=1 2>/dev/null | md5sum; }
      [ "$(block /ro/large)" = "$(block /tmp/large)" ] || echo "random read $n" >> /tmp/errors
    fi
    sh -c "echo $n > /data/write-$n && echo $n > /part/write-$n" 2>>/tmp/errors && echo $n >> /tmp/seen/write ||
      echo "write $n" >> /tmp/errors
    if sh -c "echo $n > /ro/write-$n" 2>/dev/null; then echo "read-only $n" >> /tmp/errors; fi
    sleep ${pauseSeconds}
  done`;

const content = "what was there before\n";
const blocks = 768;
/** No two blocks are the same. */
const large = Buffer.concat(
  Array.from({ length: blocks }, (_, index) => Buffer.from(`${index}\n`.padStart(4096, "."))),
);
const checksum = createHash("md5").update(large).digest("hex");

export interface StrictWish {
  readonly claim: string;
  readonly node: string;
  /** Between its rounds. Many Pods take their time, so that two cores are enough for them. */
  readonly pauseSeconds?: number;
}

/** Resolves when all of it works. */
export async function strictPod(
  { cluster, name, bucket }: Sandbox,
  { claim, node, pauseSeconds = 0.02 }: StrictWish,
): Promise<PodRef> {
  // A file that is being written, and a directory without objects, are known to one mount-s3 only: a listing during the move would miss them.
  const objects = { before: content, "open/before": content, large };
  for (const [Key, Body] of Object.entries(objects)) {
    await cluster.s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body }));
  }
  const pod = { namespace: name, name: "strict" };
  const command = ["sh", "-c", `printf '${content.trim()}\\n' > /tmp/before; ${strict(pauseSeconds)}`];
  const manifest = podManifest(pod, { node, claim, command }) as {
    spec: { containers: { volumeMounts: object[] }[] };
  };
  manifest.spec.containers[0]?.volumeMounts.push(
    { name: "data", mountPath: "/part", subPath: "part" },
    { name: "data", mountPath: "/ro", readOnly: true },
  );
  await cluster.apply(manifest);
  await cluster.untilReady(pod);
  return pod;
}

/** Lets the writer and the reader, whose files were open all the time, come to their ends. */
export async function finishOpenFiles(cluster: Cluster, pod: PodRef, bucket: string): Promise<void> {
  await cluster.exec(pod, "touch /tmp/go");
  await expect.poll(() => cluster.exec(pod, "ls /tmp/written /tmp/read 2>&1 || true"), long).not.toContain("No such");
  expect(await cluster.exec(pod, "md5sum < /tmp/reader")).toBe(`${checksum}  -\n`);
  const { Body } = await cluster.s3.send(new GetObjectCommand({ Bucket: bucket, Key: "open/across" }));
  expect(await Body?.transformToString()).toBe("first\nsecond\n");
}

export async function errorsOf(cluster: Cluster, pod: PodRef): Promise<string> {
  return await cluster.exec(pod, "head -n 20 /tmp/errors");
}

export async function requestMove(cluster: Cluster, mountpointPod: string, request: string): Promise<void> {
  await cluster.kubectl(
    "annotate",
    "pod",
    "-n",
    "mount-s3",
    mountpointPod,
    `${annotations.move}=${request}`,
    "--overwrite",
  );
}

/** The Mountpoint Pods that have workloads, by the attachments of the volume. */
export async function holders(cluster: Cluster, claim: string): Promise<readonly string[]> {
  const lists = (await attachmentsOf(cluster, claim)).flatMap(({ spec }) =>
    Object.entries(spec.mountpointS3PodAttachments),
  );
  return lists.flatMap(([name, served]) => (served.length > 0 ? name : []));
}

export async function phaseOf(cluster: Cluster, mountpointPod: string): Promise<string> {
  const pod = await cluster.get<Pod>("pod", mountpointPod, "-n", "mount-s3");
  return pod === undefined ? "gone" : (pod.status?.phase ?? "Pending");
}

/** Mountpoint Pods of the volume, whether attachments list them or not. */
export async function mountpointPodsWith(
  cluster: Cluster,
  claim: string,
): Promise<readonly { readonly name: string; readonly uid: string }[]> {
  const all = await cluster.list("pods", "-n", "mount-s3", "-l", `${labels.volumeName}=${claim}`);
  return all.map(({ metadata: { name, uid } }) => ({ name, uid }));
}
