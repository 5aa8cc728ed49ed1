/** `kubectl s3` on a real cluster, as a user runs it. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, it } from "vitest";
import { rootAccount } from "../../lab/s3.ts";
import type { Topology } from "../../src/topology/topology.ts";
import { openCluster, type Sandbox, versionsIn } from "../support/cluster.ts";
import { killMountS3 } from "../support/healing.ts";
import { type Answer, KubectlPlugin } from "../support/kubectl-plugin.ts";

const cluster = openCluster();
const long = { timeout: 240_000, interval: 500 };
const node = "worker-1";
let plugin: KubectlPlugin;

beforeAll(async () => {
  plugin = await KubectlPlugin.build(cluster);
});

afterAll(() => plugin[Symbol.dispose]());

it("OP-5 kubectl s3 shows and explains a volume from its claim to the Pods that use it", async () => {
  await using sandbox = await cluster.sandbox();
  const volume = await sandbox.volume();
  const pod = await sandbox.pod("app", { node, claim: volume });
  await cluster.untilReady(pod);

  expect(kubectl("s3", "list")).toMatch(
    new RegExp(`${volume} +${sandbox.name}/${volume} +${sandbox.bucket} +ok +1 +1`),
  );
  const tree = kubectl("s3", "tree");
  expect(tree).toContain(`Pod ${sandbox.name}/app  Running`);
  expect(tree).not.toContain("\u001B"); // nobody looks
  const described = kubectl("s3", "describe", `${sandbox.name}/app`);
  expect(described).toMatch(/State: +Running, mount serving/);
  expect(described).toMatch(/Healthy: +True \(Serving\)/);
  expect(described).toContain("Successfully assigned");
  const { volumes } = JSON.parse(kubectl("s3", "tree", "-o", "json", "-n", sandbox.name)) as Topology;
  expect(volumes.map(({ name }) => name)).toEqual([volume]);

  await killMountS3(cluster, node, volume);
  await expect.poll(() => kubectl("s3", "tree"), long).toMatch(/healed 1 times/);
  await expect.poll(() => kubectl("s3", "events", volume), long).toContain("VolumeHealed");
  const lines = kubectl("s3", "logs", volume, "--since", "10m");
  for (const party of ["s3-pod-reconciler", `s3-plugin ${node}`, `mount-s3 ${node}`])
    expect(lines).toContain(`[${party}]`);
});

it("OP-5 the name of a Mountpoint Pod follows its mount through the logs of all parties", async () => {
  await using sandbox = await cluster.sandbox();
  const volume = await sandbox.volume();
  // Two mounts of one volume on one node: their fsGroups differ.
  for (const fsGroup of [1000, 2000])
    await cluster.untilReady(
      await sandbox.pod(`app-${fsGroup}`, { node, claim: volume, securityContext: { fsGroup } }),
    );
  const { volumes } = JSON.parse(kubectl("s3", "tree", "-o", "json", "-n", sandbox.name)) as Topology;
  const pods = volumes.flatMap(({ attachments }) => attachments.flatMap(({ mountpointPods }) => mountpointPods));
  const [mount = "", other = ""] = pods.map(({ name }) => name);
  const lines = kubectl("s3", "logs", mount, "--since", "10m").split("\n");
  const said = (party: string, text: string) =>
    lines.filter(
      (line) => line.includes(`[${party}]`) && line.includes(text) && line.includes(`"mountpointPod":"${mount}"`),
    );
  expect(said("s3-pod-reconciler", "createMountpointPod")).toHaveLength(1);
  expect(said("s3-pod-reconciler", "createAttachment")).toHaveLength(1);
  expect(said(`s3-plugin ${node}`, '"published"')).toHaveLength(1);
  expect(said(`mount-s3 ${node}`, "starting mount-s3")).toHaveLength(1);
  expect(other).toMatch(/^mp-/);
  expect(lines.filter((line) => line.includes(other))).toEqual([]);
});

it("OP-4 kubectl s3 doctor ends with 0 on a healthy cluster and with 1 for a problem, and leaves nothing behind", async () => {
  await expect.poll(() => attempt("s3", "doctor").code, long).toBe(0);
  await using sandbox = await cluster.sandbox();
  const csi = { nodePublishSecretRef: { name: "none", namespace: sandbox.name } };
  await sandbox.volume({ csi, attributes: { bucketName: sandbox.bucket, authenticationSource: "secret" } });
  const { code, text } = attempt("s3", "doctor", "--no-probe");
  expect({ code, text }).toEqual({
    code: 1,
    text: expect.stringMatching(/secret-missing[\s\S]*fix: +kubectl create secret/) as string,
  });
  expect(kubectl("get", "pods", "-A", "-l", "app=s3-csi-doctor", "-o", "name")).toBe("");
});

it("SE-4 a support bundle holds what support needs, and no credentials", async () => {
  await using sandbox = await cluster.sandbox();
  const volume = await sandbox.volume();
  await cluster.untilReady(await sandbox.pod("app", { node, claim: volume }));
  const { directory } = plugin;
  const file = join(directory, "bundle.tar.gz");
  kubectl("s3", "support-bundle", "--file", file);
  execFileSync("tar", ["xzf", file, "-C", directory]);
  const root = join(directory, "s3-csi-support");
  const names = readdirSync(root, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  const texts = names.map((each) => readFileSync(join(each.parentPath, each.name), "utf8"));
  expect(texts.some((text) => text.includes(volume))).toBe(true);
  const { accessKeyId, secretAccessKey } = rootAccount;
  const secrets = [secretAccessKey, accessKeyId, Buffer.from(secretAccessKey).toString("base64")];
  for (const secret of secrets) expect(texts.filter((text) => text.includes(secret))).toEqual([]);
});

it("OP-5 kubectl s3 bench measures a volume from a Pod, and leaves neither Pod nor files", async () => {
  await using sandbox = await cluster.sandbox();
  kubectl("label", "namespace", sandbox.name, "pod-security.kubernetes.io/enforce=restricted");
  const volume = await sandbox.volume({ mountOptions: ["allow-delete"] });
  const { code, out, text } = attempt("s3", "bench", volume, "--size", "2Mi", "--files", "5", "-o", "json");
  expect({ code, text }).toEqual({ code: 0, text: out });
  expect(JSON.parse(out)).toMatchObject({
    volume,
    claim: { namespace: sandbox.name, name: volume },
    filesLeft: { count: 0 },
    measurements: ["write", "read", "write small files", "list", "read small files", "delete"].map((name) => ({
      name,
    })),
  });
  expect(await keysIn(sandbox)).toEqual([]);
  await expect.poll(() => kubectl("get", "pods", "-n", sandbox.name, "-o", "name"), long).toBe("");
});

it("OP-4 kubectl s3 bench reads only where it could not remove what it writes, and says why", async () => {
  await using sandbox = await cluster.sandbox();
  const volume = await sandbox.volume();
  await cluster.s3.send(new PutObjectCommand({ Bucket: sandbox.bucket, Key: "there", Body: "hello" }));
  const table = kubectl("s3", "bench", volume);
  expect(table).toMatch(/^read small files +1 /m);
  expect(table).not.toContain("write");
  expect(await keysIn(sandbox)).toEqual(["there"]);
});

it("OP-5 kubectl completes commands and names of volumes", async () => {
  await using sandbox = await cluster.sandbox();
  const volume = await sandbox.volume();
  expect(kubectl("__complete", "s3", "")).toContain("doctor");
  expect(kubectl("__complete", "s3", "describe", volume.slice(0, -1))).toContain(volume);
});

it("OP-4 bad input is answered with the fix", () => {
  expect(attempt("s3", "describe", "no-such-volume")).toMatchObject({
    code: 1,
    text: expect.stringContaining("kubectl s3 list") as string,
  });
  expect(attempt("s3", "logs", "x", "--since", "soon")).toMatchObject({
    code: 1,
    text: expect.stringContaining("such as 90s") as string,
  });
  expect(attempt("s3", "tree", "--context", "none").text).toContain("use one of");
});

async function keysIn({ bucket }: Sandbox): Promise<readonly (string | undefined)[]> {
  return (await versionsIn(cluster.s3, bucket)).map(({ key }) => key);
}

function kubectl(...args: readonly string[]): string {
  return plugin.kubectl(args);
}

function attempt(...args: readonly string[]): Answer {
  return plugin.attempt(args);
}
