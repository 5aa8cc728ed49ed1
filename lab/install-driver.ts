/** Puts images on the nodes and the driver into the cluster, as a user would: a Secret, and the chart with helm. */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { checkout } from "./images.ts";
import type { Lab } from "./lab.ts";
import { defaultKubeletRoot } from "./layout.ts";
import type { Progress } from "./progress.ts";
import { type RunOptions, run } from "./run.ts";
import { rootAccount, s3Endpoint, s3Region } from "./s3.ts";

export const driverNamespace = "kube-system";
export const release = "s3-csi";
export const chart = join(checkout, "charts", "scality-mountpoint-s3-csi-driver");

/** Imports archives that this lab does not have yet; gives whether anything was new. */
export async function loadImages(
  signal: AbortSignal,
  lab: Lab,
  archives: readonly string[],
  progress: Progress,
): Promise<boolean> {
  const loaded = await loadedImages(lab);
  const missing = archives.filter((archive) => !loaded.includes(archive));
  if (missing.length === 0) return false;
  await progress.task("load images", async () => {
    for (const archive of missing) await lab.load(signal, archive);
  });
  // One that took the name of another counts alone: to go back to the other, it has to be loaded again.
  const kept = loaded.filter((archive) => !missing.some((newer) => imageOf(newer) === imageOf(archive)));
  await writeFile(recordOf(lab), JSON.stringify([...kept, ...missing]));
  return true;
}

/** The cache keeps builds of one image in one directory: <image>/<key>/image.tar. */
function imageOf(archive: string): string {
  return dirname(dirname(archive));
}

/** Archives that this lab has got; with them another lab becomes like it. */
export async function loadedImages(lab: Lab): Promise<readonly string[]> {
  const record = recordOf(lab);
  return existsSync(record) ? (JSON.parse(await readFile(record, "utf8")) as string[]) : [];
}

function recordOf(lab: Lab): string {
  return join(lab.layout.state, "images.json");
}

export async function installDriver(
  signal: AbortSignal,
  lab: Lab,
  progress: Progress,
  sets: readonly string[] = [],
): Promise<void> {
  await progress.task("install the driver with helm", async () => {
    await applySecret(signal, lab);
    const { kubeletRoot = defaultKubeletRoot } = lab.spec;
    const values = [
      `s3.endpointUrl=${s3Endpoint}`,
      `s3.region=${s3Region}`,
      `node.kubeletPath=${kubeletRoot}`,
      // Tests read what is counted. Everything else is as the chart comes: what is tested is what users install.
      "metrics.enabled=true",
      ...sets,
    ];
    const flags = values.flatMap((value) => ["--set", value]);
    await helm(lab, ["upgrade", "--install", release, chart, "--namespace", driverNamespace, ...flags], { signal });
    await untilRolledOut(signal, lab);
  });
}

export async function isDriverInstalled(signal: AbortSignal, lab: Lab): Promise<boolean> {
  const { code } = await lab.tryKubectl(["get", "daemonset", "s3-csi-node", "-n", driverNamespace], { signal });
  return code === 0;
}

/** The image keeps its tag while it is worked on, so a new one needs new Pods. */
export async function restartDriver(signal: AbortSignal, lab: Lab, progress: Progress): Promise<void> {
  await progress.task("restart the driver with the new image", async () => {
    const objects = ["daemonset/s3-csi-node", "deployment/s3-csi-controller"];
    await lab.kubectl(["rollout", "restart", "-n", driverNamespace, ...objects], { signal });
    await untilRolledOut(signal, lab);
  });
}

/** In the lab's network, with the login of its administrator. */
export function helm(lab: Lab, args: readonly string[], options: RunOptions): Promise<string> {
  const argv = [join(lab.programs.kubernetes, "helm"), `--kubeconfig=${lab.layout.kubeconfig}`, ...args];
  return run(lab.inNetwork(argv), options);
}

async function applySecret(signal: AbortSignal, lab: Lab): Promise<void> {
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s3-secret", namespace: driverNamespace },
    stringData: { access_key_id: rootAccount.accessKeyId, secret_access_key: rootAccount.secretAccessKey },
  };
  await lab.kubectl(["apply", "-f", "-"], { signal, input: JSON.stringify(secret) });
}

async function untilRolledOut(signal: AbortSignal, lab: Lab): Promise<void> {
  const wait = (object: string) =>
    lab.kubectl(["rollout", "status", "-n", driverNamespace, object, "--timeout=180s"], { signal });
  await Promise.all([wait("daemonset/s3-csi-node"), wait("deployment/s3-csi-controller")]);
}
