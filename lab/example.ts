/** Runs the example of the documentation and shows that Pod and bucket see each other's files. */
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { BucketAlreadyOwnedByYou, CreateBucketCommand, GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { checkout } from "./images.ts";
import type { Lab } from "./lab.ts";
import type { Progress } from "./progress.ts";
import { s3Client } from "./s3-client.ts";

const example = join(checkout, "examples", "static");
const pod = "s3-static";
const mountPath = "/data";

export async function showExample(signal: AbortSignal, lab: Lab, progress: Progress): Promise<void> {
  const bucket = await bucketOfExample();
  const s3 = s3Client(lab.layout.s3Socket);
  await progress.task("run examples/static", async () => {
    try {
      await s3.send(new CreateBucketCommand({ Bucket: bucket }));
    } catch (error) {
      if (!(error instanceof BucketAlreadyOwnedByYou)) throw error;
    }
    await lab.kubectl(["apply", "-f", example], { signal });
    await lab.kubectl(["wait", "--for=condition=Ready", `pod/${pod}`, "--timeout=180s"], { signal });
  });
  const id = randomUUID().slice(0, 8);
  const fromPod = `from-pod-${id}.txt`;
  const fromBucket = `from-bucket-${id}.txt`;
  await exec(lab, signal, `echo "written in the Pod" > ${mountPath}/${fromPod}`);
  const object = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: fromPod }));
  const seenInBucket = (await object.Body?.transformToString())?.trim();
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: fromBucket, Body: "put into the bucket\n" }));
  const seenInPod = (await exec(lab, signal, `cat ${mountPath}/${fromBucket}`)).trim();
  if (seenInBucket !== "written in the Pod" || seenInPod !== "put into the bucket") {
    throw new Error(`Pod and bucket differ: the bucket shows "${seenInBucket}", the Pod shows "${seenInPod}"`);
  }
  progress.say(`  ${pod}:${mountPath}/${fromPod}  →  s3://${bucket}/${fromPod}: "${seenInBucket}"`);
  progress.say(`  s3://${bucket}/${fromBucket}  →  ${pod}:${mountPath}/${fromBucket}: "${seenInPod}"`);
}

function exec(lab: Lab, signal: AbortSignal, script: string): Promise<string> {
  return lab.kubectl(["exec", pod, "--", "sh", "-c", script], { signal });
}

/** The manifests are the only place that names it. */
async function bucketOfExample(): Promise<string> {
  const text = await readFile(join(example, "static.yaml"), "utf8");
  const bucket = /bucketName:\s*(\S+)/.exec(text)?.[1];
  if (bucket === undefined) throw new Error("examples/static/static.yaml names no bucket");
  return bucket;
}
