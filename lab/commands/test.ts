/** `./dev test`: the static checks and the rings, each of which also runs alone, and parts of them. */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArguments } from "../arguments.ts";
import { checkout } from "../images.ts";
import { installDriver, loadImages } from "../install-driver.ts";
import { Lab } from "../lab.ts";
import type { Parts } from "../parts.ts";
import { Problem } from "../problem.ts";
import { type Progress, progressOn } from "../progress.ts";
import { run } from "../run.ts";
import { staticChecks } from "../static-checks.ts";
import { longestFirst, readTimes } from "../testing/file-times.ts";
import { labNames } from "../testing/lab-names.ts";
import { type Helper, runInLabs, type StartLab } from "../testing/lab-pool.ts";
import { type Asked, askedFor, isByName } from "../testing/request.ts";
import { type Outcome, sum } from "../testing/results.ts";
import { filesOf, filesTagged, isRing, type Ring } from "../testing/rings.ts";
import { scaledSizes } from "../testing/scaled-sizes.ts";
import { seedFrom } from "../testing/seed.ts";
import { recordMatrix } from "../testing/store-matrix.ts";
import { storePrograms } from "../testing/store-programs.ts";
import { conclude } from "../testing/summary.ts";
import { type TestArtifacts, type TestParts, testArtifacts, testParts } from "../testing/test-artifacts.ts";
import { captureVitest, watchVitest } from "../testing/vitest.ts";

interface Request extends Pick<Asked, "files" | "args"> {
  readonly signal: AbortSignal;
  readonly progress: Progress;
  /** For everything that is left to chance. Repetitions have seeds of their own: this one and those that follow it. */
  readonly seed: number;
  readonly env: NodeJS.ProcessEnv;
  readonly repeat: number;
  /** A lab that runs already, as `./dev up` leaves it, instead of labs that live as long as the ring. */
  readonly lab?: Lab;
}

export async function test(signal: AbortSignal, words: readonly string[]): Promise<number> {
  const { options, rest, after } = parseArguments(words, ["name", "repeat", "seed"]);
  const { what, ...asked } = askedFor(rest, after);
  const seed = seedFrom(options.get("seed"));
  const request: Request = {
    signal,
    progress: progressOn(process.stderr),
    seed,
    env: what === "long" ? { TEST_SCALE: "full" } : {},
    repeat: repeatCount(options.get("repeat")),
    ...runningLab(what, options.get("name")),
    ...asked,
  };
  process.stdout.write(`seed ${seed}: --seed ${seed} repeats what this run leaves to chance\n`);
  if (what !== "long") process.stdout.write(leftToLong());
  return await conclude(await outcomeOf(request, what));
}

function leftToLong(): string {
  const smaller = `smaller than in ./dev test long:\n  ${scaledSizes().join("\n  ")}\n`;
  return `${smaller}only in ./dev test long:\n  ${[...filesOf("stores"), ...filesOf("matrix")].join("\n  ")}\n`;
}

async function outcomeOf(request: Request, what: Asked["what"]): Promise<Outcome> {
  if (isRing(what)) return await outcomeOfRing(request, what);
  switch (what) {
    case "everything":
    case "long":
      return await everything(request, what);
    case "smoke":
      return await smoke(request);
    case "static":
      return await staticChecks(request.signal, request.progress);
    default:
      return what satisfies never;
  }
}

async function outcomeOfRing(request: Request, ring: Ring): Promise<Outcome> {
  switch (ring) {
    case "unit":
    case "wire":
      return await plainRing(request, ring);
    case "cluster":
    case "stores":
      return await withoutNodes(request, await testParts(request), ring);
    case "node":
    case "node-end":
      return await nodeRing(request, await testArtifacts(request), { project: ring });
    case "matrix":
      return await matrixRing(request, await testArtifacts(request));
    default:
      return ring satisfies never;
  }
}

/** What only computes comes first: tests in labs mostly wait, and what they wait for must not starve. */
async function everything(request: Request, what: "everything" | "long"): Promise<Outcome> {
  const artifacts = await testArtifacts(request);
  const later: readonly Ring[] = what === "long" ? ["stores", "matrix"] : [];
  await storePrograms(request.signal, request.progress, ["node" as const, ...later].flatMap(filesOf));
  const plain = await withoutLab(request);
  const cluster = withoutNodes(request, artifacts.parts, "cluster");
  const clusterEnds = cluster.catch(() => undefined);
  const outcomes = await Promise.all([cluster, nodeRing(request, artifacts, { clusterEnds })]);
  if (what === "long") {
    outcomes.push(await withoutNodes(request, artifacts.parts, "stores"), await matrixRing(request, artifacts));
  }
  return sum([plain, ...outcomes]);
}

/** For a first look at a change: the checks, the wire ring, and the tests of the node ring that are tagged so. */
async function smoke(request: Request): Promise<Outcome> {
  const artifacts = await testArtifacts(request);
  const tagged = { ...request, files: filesTagged("node", "smoke"), args: ["--tags-filter=smoke"] };
  return sum(await Promise.all([withoutLab(request), nodeRing(tagged, artifacts)]));
}

async function withoutLab(request: Request): Promise<Outcome> {
  const { signal, progress } = request;
  return sum([
    await staticChecks(signal, progress),
    await plainRing(request, "unit"),
    await plainRing(request, "wire"),
  ]);
}

async function plainRing(request: Request, project: Ring): Promise<Outcome> {
  const { signal, files = [], args } = request;
  await run(["npm", "run", "--silent", "native"], { signal, cwd: checkout });
  const outcomes: Outcome[] = [];
  for (const env of environments(request)) {
    outcomes.push(await watchVitest(signal, { project, args: [...files, ...args], env }));
  }
  return sum(outcomes);
}

/** One for each repetition. */
function environments({ env, repeat, seed }: Request): readonly NodeJS.ProcessEnv[] {
  return Array.from({ length: repeat }, (_, index) => ({ ...env, TEST_SEED: String(seed + index) }));
}

/** A real API server without nodes. */
async function withoutNodes(request: Request, parts: TestParts, project: "cluster" | "stores"): Promise<Outcome> {
  const labs = labNames(project, availableParallelism()).map((name) => labStart(request, parts, { name, nodes: 0 }));
  return await labRing(request, parts, { project, labs });
}

/** Real nodes with the driver installed, and as the last step in each lab the proof that nothing is left in it. */
async function nodeRing(
  request: Request,
  artifacts: TestArtifacts,
  { project = "node", clusterEnds }: NodeRing = {},
): Promise<Outcome> {
  // One more than cores: tests of nodes wait for kubelet most of the time. Another one when the labs of the cluster ring have ended.
  const all = labNames("node", availableParallelism() + 2).map((name) => nodeLab(request, artifacts, name));
  const labs = all.slice(0, -1);
  const [start] = all.slice(-1);
  const helper = start && clusterEnds && { helper: { start, when: clusterEnds } };
  const isWhole = project === "node" && isAll(request);
  const ring = { project, labs, ...helper, ...(isWhole ? { lastProject: "node-end" } : {}) };
  return await labRing(request, artifacts.parts, ring);
}

interface NodeRing {
  readonly project?: "node" | "node-end";
  /** Resolves when the labs of the cluster ring have ended; absent where there are none. */
  readonly clusterEnds?: Promise<unknown>;
}

/** The same volumes on each store. A whole run leaves its results for docs/compatibility.md. */
async function matrixRing(request: Request, artifacts: TestArtifacts): Promise<Outcome> {
  const labs = labNames("matrix", 1).map((name) => nodeLab(request, artifacts, name));
  const outcome = await labRing(request, artifacts.parts, { project: "matrix", labs });
  if (isAll(request)) await recordMatrix(outcome);
  return outcome;
}

function isAll({ files, args }: Request): boolean {
  return files === undefined && args.length === 0;
}

function nodeLab(request: Request, { parts, archives }: TestArtifacts, name: string): StartLab {
  const { signal, progress } = request;
  return labStart(request, parts, { name, nodes: 2 }, async (lab) => {
    await loadImages(signal, lab, archives, progress);
    await installDriver(signal, lab, progress);
  });
}

interface LabRing {
  readonly project: "cluster" | "node" | "node-end" | "stores" | "matrix";
  readonly labs: readonly StartLab[];
  readonly helper?: Helper;
  readonly lastProject?: string;
}

async function labRing(given: Request, parts: TestParts, ring: LabRing): Promise<Outcome> {
  const files = given.files ?? filesOf(ring.project);
  const stores = await storePrograms(given.signal, given.progress, files);
  const env = { ...given.env, ...stores, HELM: join(parts.kubernetes, "helm"), CSI_SANITY: parts.csiSanity };
  const request = { ...given, env };
  const { signal, progress, args, repeat, lab } = request;
  if (lab !== undefined) return await watchIn(lab, ring, request);
  const [first] = ring.labs;
  if (first !== undefined && files.length * repeat === 1) {
    await using started = await first();
    return await watchIn(started.lab, ring, request);
  }
  const ordered = longestFirst(files, await readTimes());
  const mayBeEmpty = isByName(args);
  const items = environments(request).flatMap((each) => ordered.map((file) => ({ file, env: each, mayBeEmpty })));
  return await runInLabs(signal, progress, { ...ring, files: items, args, run: captureVitest });
}

/** One file, or a lab of somebody's own: nothing runs at the same time, so the output can be seen as it comes. */
async function watchIn(lab: Lab, { project }: LabRing, request: Request): Promise<Outcome> {
  const { signal, files = [], args } = request;
  const outcomes: Outcome[] = [];
  for (const env of environments(request)) {
    outcomes.push(await watchVitest(signal, { project, lab, env, args: [...files, ...args] }));
  }
  return sum(outcomes);
}

interface LabSetUp {
  readonly name: string;
  readonly nodes: number;
}

/** The lab ends with its scope, however that ends; only an abort of ours must not stop the removal. */
function labStart(
  { signal, progress }: Request,
  parts: Parts,
  spec: LabSetUp,
  fill: (lab: Lab) => Promise<void> = () => Promise.resolve(),
): StartLab {
  return async () => {
    const lab = await Lab.start(signal, spec, parts, progress);
    const stop = () => lab.stop(new AbortController().signal);
    try {
      await fill(lab);
    } catch (error) {
      await stop();
      throw error;
    }
    return { lab, [Symbol.asyncDispose]: stop };
  };
}

/** A ring can be run over and over in a lab of its own choice, for the one who works on it. */
function runningLab(what: Asked["what"], name: string | undefined): { readonly lab?: Lab } {
  if (name === undefined) return {};
  if (what !== "cluster" && what !== "node" && what !== "matrix")
    throw new Problem("--name is for the rings cluster, node and matrix", "write ./dev test node --name NAME");
  const lab = Lab.open(name);
  if (lab === undefined) throw new Problem(`lab "${name}" is not running`, `start it: ./dev up --name ${name}`);
  return { lab };
}

function repeatCount(given: string | undefined): number {
  const count = Number(given ?? 1);
  if (Number.isInteger(count) && count >= 1) return count;
  throw new Problem(`--repeat ${given} is not a number of runs`, "write --repeat 10 FILE");
}
