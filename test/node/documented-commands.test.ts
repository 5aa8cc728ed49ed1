/** The commands of the documentation, run as they are written: only names and addresses that a reader would replace are replaced. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { checkout } from "../../lab/images.ts";
import { driverNamespace } from "../../lab/install-driver.ts";
import { run } from "../../lab/run.ts";
import { rootAccount, s3Endpoint } from "../../lab/s3.ts";
import type { KubeObject } from "../../src/kube/kinds.ts";
import { bucketNames } from "../support/claims.ts";
import { openCluster } from "../support/cluster.ts";
import { blocksIn } from "../support/doc-blocks.ts";
import { HelmRelease } from "../support/helm-release.ts";
import { attachmentsOf, mountS3Of } from "../support/mount-s3-process.ts";

const cluster = openCluster();
const helm = new HelmRelease(cluster);
const node = "worker-1";
const long = { timeout: 240_000, interval: 500 };

/** A checkout of the reader's own, in which files may be changed. */
let place: string;

beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), "documented-"));
  for (const folder of ["charts", "examples", "kustomization.yaml"])
    cpSync(join(checkout, folder), join(place, folder), { recursive: true });
  // `./dev up` runs the example, too.
  await cluster.kubectl("delete", "-f", join(checkout, "examples/static"), "--ignore-not-found");
});

afterAll(async () => {
  rmSync(place, { recursive: true });
  await helm.asUsual();
});

it("OP-8 a bucket that exists already: examples/static", async () => {
  await using sandbox = await cluster.sandbox();
  const { printed, promised } = await follow("examples/static/README.md", {
    "THE-NAME-OF-YOUR-BUCKET": sandbox.bucket,
  });
  expect(promised).toHaveLength(1);
  expect(printed).toEqual(promised);
});

it("OP-8 a bucket for every claim: examples/dynamic", async () => {
  const before = await bucketNames(cluster.s3);
  await follow("examples/dynamic/README.md");
  // kubectl waits for the claim only; the driver deletes the volume afterwards, and a bucket that is empty by then.
  const volumes = async () => (await cluster.list<BoundVolume>("pv")).map(({ spec }) => spec.claimRef?.name);
  await expect.poll(volumes, long).not.toContain("s3-dynamic");
  // It is not empty, so it is kept, as the document says.
  const kept = (await bucketNames(cluster.s3)).filter((bucket) => !before.includes(bucket));
  expect(kept).toHaveLength(1);
  for (const bucket of kept) await cluster.removeBucket(bucket);
});

it("OP-8 troubleshooting", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const { namespace, name } = await sandbox.pod("app", { node, claim });
  await cluster.untilReady({ namespace, name });
  const [attachment] = await attachmentsOf(cluster, claim);
  const mountpointPod = (await mountS3Of(cluster, node, claim)).name;
  const { output } = await follow("docs/guides/troubleshooting.md", {
    "pod POD": `pod ${name} -n ${namespace}`,
    "s3pa NAME": `s3pa ${attachment?.metadata.name}`,
    "MOUNTPOINT-POD": mountpointPod,
  });
  expect(output).toContain(mountpointPod);
});

it("OP-8 upgrade, rollback and a private CA", async () => {
  await follow("docs/guides/upgrade.md");
  cpSync(join(cluster.lab.layout.pki, "ca.crt"), join(place, "ca.crt"));
  await follow("docs/guides/tls.md");
  expect(await cluster.get("configmap", "s3-ca", "-n", "mount-s3")).toBeDefined();
  await helm.asUsual();
});

it("OP-8 stores and identities", async () => {
  const { output: volumes } = await follow("docs/guides/stores.md");
  expect(volumes).toContain("STORE");
  const { output: issuer } = await follow("docs/guides/pod-identity.md");
  expect(issuer).toContain('"jwks_uri"');
});

it("OP-8 uninstallation, and installation as in the README and in the guide", async () => {
  await using sandbox = await cluster.sandbox();
  const example = { "=https://s3.example.com": `=${s3Endpoint}` };
  await run(["sed", "-i", `s/bucketName: .*/bucketName: ${sandbox.bucket}/`, "examples/static/static.yaml"], {
    signal: AbortSignal.timeout(60_000),
    cwd: place,
  });
  const before = await bucketNames(cluster.s3);
  await uninstall();
  await follow("README.md", {
    ...example,
    "access_key_id=…": `access_key_id=${rootAccount.accessKeyId}`,
    "secret_access_key=…": `secret_access_key=${rootAccount.secretAccessKey}`,
  });
  for (const name of ["s3-dynamic", "s3-static"]) await cluster.untilReady({ namespace: "default", name });
  for (const folder of ["dynamic", "static"]) await cluster.kubectl("delete", "-f", join(place, "examples", folder));
  await expect.poll(() => bucketNames(cluster.s3), long).toEqual(before);
  await uninstall();
  await follow("docs/guides/installation.md", {
    ...example,
    SECRET_ACCESS_KEY: rootAccount.secretAccessKey,
    ACCESS_KEY_ID: rootAccount.accessKeyId,
  });
});

interface BoundVolume extends KubeObject {
  readonly spec: { readonly claimRef?: { readonly name: string } };
}

/** The Secret with the keys stays, as the document says. */
async function uninstall(): Promise<void> {
  await follow("docs/guides/uninstall.md");
  await cluster.kubectl("delete", "secret", "s3-secret", "-n", driverNamespace);
}

interface Followed {
  /** Of all commands. */
  readonly output: string;
  /** What the document says that some of them print, and what those did print. */
  readonly promised: readonly string[];
  readonly printed: readonly string[];
}

/** Runs the commands of a document from its top to its end. */
async function follow(file: string, replaced: Readonly<Record<string, string>> = {}): Promise<Followed> {
  const { lab } = cluster;
  const env = { PATH: `${lab.programs.kubernetes}:${process.env["PATH"]}`, KUBECONFIG: lab.layout.kubeconfig };
  const outputs: string[] = [];
  const promised: string[] = [];
  const printed: string[] = [];
  for (const { text, said } of blocksIn(file)) {
    if (said === "run") {
      const script = Object.entries(replaced).reduce((before, [from, to]) => before.replaceAll(from, to), text);
      const signal = AbortSignal.timeout(300_000);
      outputs.push(await run(lab.inNetwork(["bash", "-euc", script]), { signal, cwd: place, env }));
    } else if (said === "printed") {
      promised.push(comparable(text));
      printed.push(comparable(outputs.at(-1) ?? ""));
    }
  }
  return { output: outputs.join(""), promised, printed };
}

/** Without times; and the lab's busybox knows no names of users and groups. */
function comparable(text: string): string {
  const plain = text.replaceAll(/[A-Z][a-z]{2} [ \d]\d \d\d:\d\d/g, "then").replaceAll(/\broot\b/g, "0");
  return plain.replaceAll(/ +/g, " ").trim();
}
