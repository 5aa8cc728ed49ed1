/** `./dev test`: the static checks and the four rings, each of which also runs alone. */
import { join } from "node:path";
import { parseArguments } from "../arguments.ts";
import { checkout, driverImage, supportImages } from "../images.ts";
import { installDriver, loadImages } from "../install-driver.ts";
import { Lab } from "../lab.ts";
import { checkMachine } from "../machine.ts";
import { buildParts, type Parts } from "../parts.ts";
import { Problem } from "../problem.ts";
import { type Progress, progressOn } from "../progress.ts";
import { runRing } from "../rings.ts";
import { run } from "../run.ts";
import { staticChecks } from "../static-checks.ts";
import { type Counts, closingLine, sum } from "../test-counts.ts";

interface Run {
  readonly signal: AbortSignal;
  readonly progress: Progress;
  /** Arguments after the ring's name, for vitest. */
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** A lab that runs already, as `./dev up` leaves it, instead of one that lives as long as the ring. */
  readonly lab?: Lab;
}

const rings: Readonly<Record<string, (run: Run) => Promise<Counts>>> = {
  static: ({ signal, progress }) => staticChecks(signal, progress),
  unit: (ring) => plainRing(ring, "unit"),
  wire: (ring) => plainRing(ring, "wire"),
  cluster: clusterRing,
  node: nodeRing,
};

export async function test(signal: AbortSignal, args: readonly string[]): Promise<number> {
  const [ring, ...rest] = args;
  const { options, rest: given } = parseArguments(rest, ["name"]);
  const whole = ring === undefined || ring === "long";
  // Long waits and large counts at full size; the plain run scales them down.
  const env = ring === "long" ? { TEST_SCALE: "full" } : {};
  const lab = runningLab(ring, options.get("name"));
  const context = { signal, progress: progressOn(process.stderr), args: whole ? [] : given, env, ...lab };
  const chosen = whole ? Object.values(rings) : [rings[ring] ?? unknownRing(ring)];
  const counts: Counts[] = [];
  for (const one of chosen) counts.push(await one(context));
  return closingLine(sum(counts));
}

/** A ring can be run over and over in a lab of its own choice, for the one who works on it. */
function runningLab(ring: string | undefined, name: string | undefined): { readonly lab?: Lab } {
  if (name === undefined) return {};
  if (ring !== "cluster" && ring !== "node")
    throw new Problem("--name is for the rings cluster and node", "write ./dev test node --name NAME");
  const lab = Lab.open(name);
  if (lab === undefined) throw new Problem(`lab "${name}" is not running`, `start it: ./dev up --name ${name}`);
  return { lab };
}

async function plainRing({ signal, args, env }: Run, project: string): Promise<Counts> {
  await run(["npm", "run", "--silent", "native"], { signal, cwd: checkout });
  return runRing(signal, { project, args, env });
}

/** A real API server without nodes. */
async function clusterRing(ring: Run): Promise<Counts> {
  const { signal, progress } = ring;
  await checkMachine();
  const parts = await buildParts(signal, progress);
  await run(["npm", "run", "--silent", "native"], { signal, cwd: checkout });
  const inLab = (lab: Lab) => runRing(signal, { project: "cluster", ...placed(ring, parts, lab) });
  return ring.lab === undefined ? withLab(ring, parts, { name: "test-cluster", nodes: 0 }, inLab) : inLab(ring.lab);
}

/** Real nodes with the driver installed. */
async function nodeRing(ring: Run): Promise<Counts> {
  const { signal, progress } = ring;
  await checkMachine();
  const parts = await buildParts(signal, progress);
  if (ring.lab !== undefined) return runRing(signal, { project: "node", ...placed(ring, parts, ring.lab) });
  const images = await supportImages(signal, parts, progress);
  const driver = await driverImage(signal, parts, progress);
  const archives = [...images, driver.archive];
  if (ring.args.length > 0) return nodeLab(ring, parts, archives, { name: "test-node", args: ring.args });
  // The ring is long and mostly waits: two labs side by side, each with half of its files.
  const halves = [1, 2].map((half) =>
    nodeLab(ring, parts, archives, { name: `test-node-${half}`, args: [`--shard=${half}/2`] }),
  );
  const results = await Promise.allSettled(halves);
  return sum(results.map((result) => (result.status === "fulfilled" ? result.value : raise(result.reason))));
}

interface NodeLab {
  readonly name: string;
  readonly args: readonly string[];
}

/** One lab, and as its last step the proof that nothing is left in it. */
function nodeLab(ring: Run, parts: Parts, archives: readonly string[], { name, args }: NodeLab): Promise<Counts> {
  const { signal, progress } = ring;
  return withLab(ring, parts, { name, nodes: 2 }, async (lab) => {
    await loadImages(signal, lab, archives, progress);
    await installDriver(signal, lab, progress);
    const files = await runRing(signal, { project: "node", ...placed(ring, parts, lab), args });
    return sum([files, await runRing(signal, { project: "node-end", ...placed(ring, parts, lab), args: [] })]);
  });
}

function placed(ring: Run, parts: Parts, lab: Lab) {
  return { lab, args: ring.args, env: environment(ring, parts) };
}

function raise(reason: unknown): never {
  throw reason;
}

function environment({ env }: Run, parts: Parts): NodeJS.ProcessEnv {
  return { ...env, HELM: join(parts.kubernetes, "helm"), CSI_SANITY: parts.csiSanity };
}

/** The lab ends with the ring, however that ends; only an unfinished signal of ours must not stop the removal. */
async function withLab(
  { signal, progress }: Run,
  parts: Parts,
  spec: { readonly name: string; readonly nodes: number },
  ring: (lab: Lab) => Promise<Counts>,
): Promise<Counts> {
  const lab = await Lab.start(signal, spec, parts, progress);
  try {
    return await ring(lab);
  } finally {
    await lab.stop(new AbortController().signal);
  }
}

function unknownRing(name: string): never {
  throw new Problem(`there is no ring "${name}"`, `use one of: ${Object.keys(rings).join(", ")}, long`);
}
