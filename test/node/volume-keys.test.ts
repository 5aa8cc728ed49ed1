/** What of a volume's Secret reaches the object store. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CreateBucketCommand, GetObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { Account } from "../../lab/s3.ts";
import { openCluster, type PodRef, type Sandbox } from "../support/cluster.ts";
import { keyMark, madeUpKeys, secretFields } from "../support/s3-accounts.ts";
import { S3Recorder } from "../support/s3-recorder.ts";

const cluster = openCluster();
const node = "worker-1";
let recorder: S3Recorder;

beforeAll(async () => {
  recorder = await S3Recorder.open(cluster);
});

afterAll(async () => {
  await recorder[Symbol.asyncDispose]();
});

it("MP-5 keys with all characters that stores hand out sign for the region of the volume's Secret", async () => {
  const keys = { accessKeyId: `${keyMark}-id-_.~A1`, secretAccessKey: `${keyMark}-secret-_.~/+=$'"\\%#: `.trim() };
  const region = "eu-central-9";
  await using sandbox = await cluster.sandbox();
  await using server = await regionalServer(keys, region);
  await server.client.send(new CreateBucketCommand({ Bucket: sandbox.bucket }));
  recorder.leadTo(keys.accessKeyId, server.port);
  const pod = await podWithKeys(sandbox, { ...secretFields(keys), region: ` ${region}\n` });
  await cluster.exec(pod, "echo hello > /data/file");
  const { Body } = await server.client.send(new GetObjectCommand({ Bucket: sandbox.bucket, Key: "file" }));
  expect(await Body?.transformToString()).toBe("hello\n");
  const requests = recorder.requests.filter(({ accessKeyId }) => accessKeyId === keys.accessKeyId);
  expect(new Set(requests.map((request) => request.region))).toEqual(new Set([region]));
});

it("MP-5 requests with temporary keys carry the session token of the volume's Secret, signed", async () => {
  const keys = madeUpKeys();
  const token = `${keyMark}-token/+=-_.~${"x".repeat(1000)}`;
  recorder.answerEmpty(keys.accessKeyId);
  await using sandbox = await cluster.sandbox();
  const pod = await podWithKeys(sandbox, { ...secretFields(keys), session_token: token });
  expect(await cluster.exec(pod, "ls /data")).toBe("");
  const requests = recorder.requests.filter(({ accessKeyId }) => accessKeyId === keys.accessKeyId);
  expect(requests.length).toBeGreaterThan(1);
  for (const { sessionToken, signedHeaders } of requests) {
    expect(sessionToken).toBe(token);
    expect(signedHeaders).toContain("x-amz-security-token");
  }
});

async function podWithKeys(sandbox: Sandbox, stringData: object): Promise<PodRef> {
  const secret = { namespace: sandbox.name, name: "keys" };
  await cluster.apply({ apiVersion: "v1", kind: "Secret", metadata: secret, stringData });
  const attributes = { authenticationSource: "secret" };
  const claim = await sandbox.volume({ attributes, csi: { nodePublishSecretRef: secret } });
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  return pod;
}

interface RegionalServer extends AsyncDisposable {
  readonly port: number;
  readonly client: S3Client;
}

/** A second S3 server, which takes no signature for another region than its own. */
async function regionalServer(keys: Account, region: string): Promise<RegionalServer> {
  const port = 7171;
  const directory = mkdtempSync(join(cluster.lab.layout.state, "s3-regional-"));
  for (const name of ["iam", "buckets"]) mkdirSync(join(directory, name));
  const program = join(cluster.lab.programs.kubernetes, "versitygw");
  const flags = ["--port", `127.0.0.1:${port}`, "--region", region, "--iam-dir", join(directory, "iam")];
  const env = { ...process.env, ROOT_ACCESS_KEY: keys.accessKeyId, ROOT_SECRET_KEY: keys.secretAccessKey };
  const child = spawn(program, [...flags, "posix", join(directory, "buckets")], { env, stdio: "ignore" });
  const ended = once(child, "close");
  const endpoint = `http://127.0.0.1:${port}`;
  await vi.waitFor(() => fetch(endpoint), { timeout: 60_000, interval: 50 });
  return {
    port,
    client: new S3Client({ endpoint, region, credentials: keys, forcePathStyle: true }),
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      await ended;
      rmSync(directory, { recursive: true });
    },
  };
}
