/** `./dev up`: from nothing to a Pod that reads and writes a bucket, on a real cluster. */
import { defaultLab, parseArguments } from "../arguments.ts";
import { showExample } from "../example.ts";
import { driverImage, supportImages } from "../images.ts";
import { installDriver, loadImages, restartDriver } from "../install-driver.ts";
import { Lab } from "../lab.ts";
import { checkMachine } from "../machine.ts";
import { buildParts, type Parts } from "../parts.ts";
import { Problem } from "../problem.ts";
import { elapsed, type Progress, progressOn } from "../progress.ts";
import { rootAccount, s3Endpoint, tenantAccount } from "../s3.ts";

const defaultNodes = 2;

export async function up(signal: AbortSignal, args: readonly string[]): Promise<number> {
  const started = Date.now();
  const { options } = parseArguments(args, ["name", "nodes"]);
  const name = options.get("name") ?? defaultLab;
  const nodes = nodeCount(options.get("nodes"));
  await checkMachine();
  const progress = progressOn(process.stderr);
  const parts = await buildParts(signal, progress);
  const images = await supportImages(signal, parts, progress);
  const driver = await driverImage(signal, parts, progress);
  const lab = await runningLab(signal, { name, nodes }, parts, progress);
  await loadImages(signal, lab, images, progress);
  const newDriver = await loadImages(signal, lab, [driver.archive], progress);
  const installed =
    (await lab.tryKubectl(["get", "daemonset", "s3-csi-node", "-n", "kube-system"], { signal })).code === 0;
  await installDriver(signal, lab, progress);
  if (newDriver && installed) await restartDriver(signal, lab, progress);
  await showExample(signal, lab, progress);
  process.stdout.write(summary(lab, started));
  return 0;
}

async function runningLab(
  signal: AbortSignal,
  spec: { readonly name: string; readonly nodes: number | undefined },
  parts: Parts,
  progress: Progress,
): Promise<Lab> {
  const lab = Lab.open(spec.name);
  if (lab === undefined) {
    return Lab.start(signal, { name: spec.name, nodes: spec.nodes ?? defaultNodes }, parts, progress);
  }
  if (spec.nodes !== undefined && spec.nodes !== lab.spec.nodes) {
    throw new Problem(
      `lab "${spec.name}" runs with ${lab.spec.nodes} nodes`,
      `end it first (./dev down${nameFlag(spec.name)}), or start another with --name`,
    );
  }
  progress.say(`  lab "${spec.name}" is running already`);
  return lab;
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

function summary(lab: Lab, started: number): string {
  const { name } = lab.spec;
  const flag = nameFlag(name);
  return `
Ready after ${elapsed(started)}.

Running: lab "${name}" with ${lab.nodes.map((node) => node.name).join(", ")}; S3 at ${s3Endpoint} with the accounts
${rootAccount.accessKeyId} and ${tenantAccount.accessKeyId}; the driver in kube-system; the Pod of examples/static/ in default.

Try:
  ./dev kubectl${flag} get s3pa,pods -A
  ./dev kubectl${flag} exec s3-static -- ls -l /data
  ./dev logs${flag} driver-node
  ./dev test

Stop it: ./dev down${flag}
`;
}
