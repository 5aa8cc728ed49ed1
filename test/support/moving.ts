/** A Pod that uses its volume in every way and notes each error, and what may be asked of its Mountpoint Pods. */
import { GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { expect } from "vitest";
import { annotations, labels } from "../../src/core/names.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import { type Cluster, type PodRef, podManifest, type Sandbox } from "./cluster.ts";
import { long } from "./healing.ts";
import { attachmentsOf } from "./mount-s3-process.ts";

/** Never stops, and writes a line into /tmp/errors for everything that fails. `across` and `reader` keep a file open until /tmp/go exists. */
const strict = `mkdir -p /tmp/seen; : > /tmp/errors
  untilGo() { while [ ! -e /tmp/go ]; do sleep 0.05; done; }
  (echo first; untilGo; echo second) | dd of=/data/open/across bs=64k 2>/tmp/dd && touch /tmp/written || cat /tmp/dd >> /tmp/errors &
  (dd bs=1 count=3 2>/dev/null; untilGo; cat) < /data/before > /tmp/reader 2>>/tmp/errors && touch /tmp/read &
  n=0
  while true; do
    n=$((n + 1))
    ls /data /part /ro > /dev/null 2>>/tmp/errors && echo $n > /tmp/seen/list || echo "list $n" >> /tmp/errors
    for file in /data/before /ro/before; do
      cat $file 2>>/tmp/errors | cmp -s - /tmp/before && echo $n > /tmp/seen/read || echo "read $file $n" >> /tmp/errors
    done
    byte() { dd if=$1 bs=1 skip=$((n % 20)) count=1 2>/dev/null; }
    [ "$(byte /data/before)" = "$(byte /tmp/before)" ] || echo "random read $n" >> /tmp/errors
    sh -c "echo $n > /data/write-$n && echo $n > /part/write-$n" 2>>/tmp/errors && echo $n >> /tmp/seen/write ||
      echo "write $n" >> /tmp/errors
    if sh -c "echo $n > /ro/write-$n" 2>/dev/null; then echo "read-only $n" >> /tmp/errors; fi
    sleep 0.02
  done`;

const content = "what was there before\n";

/** Resolves when all of it works. */
export async function strictPod(cluster: Cluster, sandbox: Sandbox, claim: string, node: string): Promise<PodRef> {
  await cluster.s3.send(new PutObjectCommand({ Bucket: sandbox.bucket, Key: "before", Body: content }));
  // A file that is being written, and a directory without objects, are known to one mount-s3 only: a listing during the move would miss them.
  await cluster.s3.send(new PutObjectCommand({ Bucket: sandbox.bucket, Key: "open/before", Body: content }));
  const pod = { namespace: sandbox.name, name: "strict" };
  const command = ["sh", "-c", `printf '${content.trim()}\\n' > /tmp/before; ${strict}`];
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
  expect(await cluster.exec(pod, "cat /tmp/reader")).toBe(content);
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
