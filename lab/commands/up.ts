/** `./dev up`: from nothing to a Pod that reads and writes a bucket, on a real cluster. */
import { buildPlugin, pluginDirectory } from "../../scripts/plugin.ts";
import { defaultLab, parseArguments } from "../arguments.ts";
import { type Artifacts, buildArtifacts } from "../artifacts.ts";
import { showExample } from "../example.ts";
import { driverNamespace, installDriver, isDriverInstalled, loadImages, restartDriver } from "../install-driver.ts";
import { checkName, Lab } from "../lab.ts";
import { network } from "../layout.ts";
import { checkMachine } from "../machine.ts";
import { startMonitoring } from "../monitoring.ts";
import { applyMinioSecret, minioValues, storeNamed } from "../more-stores.ts";
import { minioPart } from "../parts.ts";
import { Problem } from "../problem.ts";
import { elapsed, type Progress, progressOn } from "../progress.ts";
import { prometheusUrl } from "../prometheus.ts";
import { run } from "../run.ts";
import { minioEndpoint, rootAccount, s3Endpoint, tenantAccount } from "../s3.ts";
import { startMinio } from "../start-minio.ts";

const defaultNodes = 2;
/** Any free one will do; a number makes the two commands fit together. */
const pagePort = 8443;

export async function up(signal: AbortSignal, args: readonly string[]): Promise<number> {
  const started = Date.now();
  const { name, nodes, kubeletRoot, store, monitoring } = asked(args);
  await checkMachine();
  const progress = progressOn(process.stderr);
  const artifacts = await buildArtifacts(signal, progress);
  const minio = store === undefined ? undefined : await minioPart(signal, progress);
  const running = openSame(name, nodes);
  if (running !== undefined) progress.say(`  lab "${name}" is running already`);
  const labSpec = { name, nodes: nodes ?? defaultNodes, ...kubeletRoot };
  const lab = running ?? (await Lab.start(signal, labSpec, artifacts.parts, progress));
  try {
    if (minio !== undefined) await startMinio(signal, lab, minio, progress);
    await fill(signal, lab, artifacts, progress);
    if (monitoring) await startMonitoring(signal, lab, progress);
    await showTree(signal, lab);
  } catch (error) {
    // Stopped on the way, it takes along what it started itself; a lab that ran before stays.
    if (signal.aborted && running === undefined) await lab.stop(new AbortController().signal);
    throw error;
  }
  process.stdout.write(summary(lab, started));
  return 0;
}

function asked(args: readonly string[]) {
  const { options } = parseArguments(args, ["name", "nodes", "kubelet-root", "store"], ["monitoring"]);
  const kubeletRoot = options.get("kubelet-root");
  const name = options.get("name") ?? defaultLab;
  checkName(name);
  return {
    name,
    nodes: nodeCount(options.get("nodes")),
    kubeletRoot: kubeletRoot === undefined ? {} : { kubeletRoot },
    store: storeNamed(options.get("store")),
    monitoring: options.has("monitoring"),
  };
}

/** Images, driver and example; whatever of it is there already stays. */
async function fill(signal: AbortSignal, lab: Lab, { support, driver }: Artifacts, progress: Progress): Promise<void> {
  await loadImages(signal, lab, support, progress);
  const newDriver = await loadImages(signal, lab, [driver.archive], progress);
  const installed = await isDriverInstalled(signal, lab);
  await installDriver(signal, lab, progress, await valuesFor(signal, lab));
  if (newDriver && installed) await restartDriver(signal, lab, progress);
  await showExample(signal, lab, progress);
}

/** A lab that has MinIO keeps it, and the driver knows it. */
async function valuesFor(signal: AbortSignal, lab: Lab): Promise<readonly string[]> {
  if (!hasMinio(lab)) return [];
  await applyMinioSecret(signal, lab, driverNamespace);
  return minioValues;
}

function hasMinio(lab: Lab): boolean {
  return lab.component("minio").process !== undefined;
}

async function showTree(signal: AbortSignal, lab: Lab): Promise<void> {
  const plugin = await buildPlugin(pluginDirectory);
  const tree = await run(lab.inNetwork([plugin, "tree", `--kubeconfig=${lab.layout.kubeconfig}`]), { signal });
  process.stdout.write(`\n$ kubectl s3 tree\n${tree}`);
}

function openSame(name: string, nodes: number | undefined): Lab | undefined {
  const lab = Lab.open(name);
  if (lab === undefined || nodes === undefined || nodes === lab.spec.nodes) return lab;
  throw new Problem(
    `lab "${name}" runs with ${lab.spec.nodes} nodes`,
    `end it first (./dev down${nameFlag(name)}), or start another with --name`,
  );
}

function nodeCount(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const count = Number(given);
  if (Number.isInteger(count) && count >= 1 && count <= 9) return count;
  throw new Problem(`--nodes ${given} is not a number of nodes`, "use a number from 1 to 9");
}

function nameFlag(name: string): string {
  return name === defaultLab ? "" : ` --name ${name}`;
}

/** No interface leads into the lab, so a browser needs `./dev forward`. */
function addresses(lab: Lab, flag: string): string {
  const page = `The page: ./dev kubectl${flag} s3 ui --port ${pagePort}, and in another terminal ./dev forward${flag} ${pagePort}; then open the address
that the first one prints.
`;
  if (lab.component("prometheus").process === undefined)
    return `${page}Prometheus: ./dev up${flag} --monitoring
`;
  return `${page}Prometheus: ${prometheusUrl} in the lab; ./dev forward${flag} ${network.prometheusPort} opens it on this machine.
`;
}

function summary(lab: Lab, started: number): string {
  const { name } = lab.spec;
  const flag = nameFlag(name);
  const minio = hasMinio(lab) ? `; MinIO at ${minioEndpoint}, which is the store "minio" of the driver, with STS` : "";
  return `
Ready after ${elapsed(started)}.

Running: lab "${name}" with ${lab.nodes.map((node) => node.name).join(", ")}; S3 at ${s3Endpoint} with the accounts
${rootAccount.accessKeyId} and ${tenantAccount.accessKeyId}${minio}; the driver in kube-system; the Pod of examples/static/ in default.

Try:
  ./dev kubectl${flag} get s3pa,pods -A
  ./dev kubectl${flag} s3 doctor
  ./dev kubectl${flag} exec s3-static -- ls -l /data
  ./dev logs${flag} driver-node
  ./dev test

${addresses(lab, flag)}
Stop it: ./dev down${flag}
`;
}
