/** `kubectl s3` as a user runs it: the one file, by the Node of this machine, found by kubectl. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { rootAccount } from "../../lab/s3.ts";
import { buildPlugin } from "../../scripts/plugin.ts";
import type { Topology } from "../../src/topology/topology.ts";
import { openCluster } from "../support/cluster.ts";
import { killMountS3 } from "../support/healing.ts";

const cluster = openCluster();
const long = { timeout: 240_000, interval: 500 };
const node = "worker-1";
let directory = "";

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "kubectl-s3-"));
  await buildPlugin(directory);
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

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

function kubectl(...args: readonly string[]): string {
  const { code, text, out } = attempt(...args);
  if (code !== 0) throw new Error(`kubectl ${args.join(" ")} ended with ${code}:\n${text}`);
  return out;
}

interface Answer {
  readonly code: number;
  readonly out: string;
  /** What a person reads. */
  readonly text: string;
}

/** The Node of this project is newer than the oldest that the plugin supports, so it is taken out of PATH. */
function attempt(...args: readonly string[]): Answer {
  const { kubernetes } = cluster.lab.programs;
  const inherited = (process.env["PATH"] ?? "").split(":").filter((each) => !each.includes("node_modules"));
  const PATH = [directory, kubernetes, ...inherited].join(":");
  const env = { PATH, HOME: dirname(directory), KUBECONFIG: cluster.lab.layout.kubeconfig };
  try {
    const out = execFileSync("kubectl", args, { env, encoding: "utf8", stdio: "pipe", maxBuffer: 64 * 1024 * 1024 });
    return { code: 0, out, text: out };
  } catch (error) {
    const { status, stdout, stderr } = error as { status: number; stdout: string; stderr: string };
    return { code: status, out: stdout, text: `${stdout}${stderr}` };
  }
}
