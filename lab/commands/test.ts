/** `./dev test`: the static checks and the four rings, each of which also runs alone, and parts of them. */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArguments } from "../arguments.ts";
import { buildArtifacts } from "../artifacts.ts";
import { checkout } from "../images.ts";
import { installDriver, loadImages } from "../install-driver.ts";
import { Lab } from "../lab.ts";
import { checkMachine } from "../machine.ts";
import { buildParts, csiSanityPart, type Parts } from "../parts.ts";
import { Problem } from "../problem.ts";
import { type Progress, progressOn } from "../progress.ts";
import { run } from "../run.ts";
import { staticChecks } from "../static-checks.ts";
import { longestFirst, readTimes } from "../testing/file-times.ts";
import { runInLabs, type StartLab } from "../testing/lab-pool.ts";
import { type Outcome, sum } from "../testing/results.ts";
import { filesOf, filesTagged, isRing, type Ring, ringOf } from "../testing/rings.ts";
import { scaledSizes } from "../testing/scaled-sizes.ts";
import { seedFrom } from "../testing/seed.ts";
import { conclude } from "../testing/summary.ts";
import { captureVitest, watchVitest } from "../testing/vitest.ts";

/** What is asked for on the command line. */
interface Request {
  readonly signal: AbortSignal;
  readonly progress: Progress;
  readonly env: NodeJS.ProcessEnv;
  /** Instead of all files of a ring. */
  readonly files?: readonly string[];
  /** For vitest, such as `-t NAME`. */
  readonly args: readonly string[];
  readonly repeat: number;
  /** A lab that runs already, as `./dev up` leaves it, instead of labs that live as long as the ring. */
  readonly lab?: Lab;
}

export async function test(signal: AbortSignal, args: readonly string[]): Promise<number> {
  const { options, rest } = parseArguments(args, ["name", "repeat", "seed"]);
  const [first, ...words] = rest;
  const seed = seedFrom(options.get("seed"));
  const isLong = first === "long";
  const request: Request = {
    signal,
    progress: progressOn(process.stderr),
    env: { TEST_SEED: String(seed), ...(isLong ? { TEST_SCALE: "full" } : {}) },
    args: [],
    repeat: repeatCount(options.get("repeat")),
    ...runningLab(options.get("name")),
  };
  process.stdout.write(`seed ${seed}: --seed ${seed} repeats what this run leaves to chance\n`);
  if (!isLong) process.stdout.write(`smaller than in ./dev test long:\n  ${scaledSizes().join("\n  ")}\n`);
  return await conclude(await outcomeOf(request, first, words));
}

async function outcomeOf(request: Request, first: string | undefined, words: readonly string[]): Promise<Outcome> {
  if (first === undefined || first === "long") return await everything(request);
  if (first === "smoke") return await smoke(request);
  if (first === "static") return await staticChecks(request.signal, request.progress);
  if (isRing(first)) return await oneRing(request, first, words);
  if (!first.endsWith(".test.ts")) throw unknownRing(first);
  return await oneRing(request, ringOf(first).ring, [first, ...words]);
}

/** Everything at the same time: what needs no lab computes while the labs wait. */
async function everything(request: Request): Promise<Outcome> {
  const artifacts = await testArtifacts(request);
  return sum(
    await Promise.all([withoutLab(request), clusterRing(request, artifacts.parts), nodeRing(request, artifacts)]),
  );
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

/** Words that name files choose them; the rest is for vitest. */
async function oneRing(request: Request, ring: Ring, words: readonly string[]): Promise<Outcome> {
  const known = filesOf(ring);
  const names = words.filter((word) => !word.startsWith("-") && known.some((file) => file.includes(word)));
  const files = known.filter((file) => names.some((name) => file.includes(name)));
  const args = words.filter((word) => !names.includes(word));
  const chosen: Request = { ...request, args, ...(files.length > 0 ? { files } : {}) };
  if (ring === "unit" || ring === "wire") return await plainRing(chosen, ring);
  if (ring === "cluster") return await clusterRing(chosen, await testParts(chosen));
  return await nodeRing(chosen, await testArtifacts(chosen));
}

async function plainRing({ signal, files = [], args, env, repeat }: Request, project: Ring): Promise<Outcome> {
  await run(["npm", "run", "--silent", "native"], { signal, cwd: checkout });
  const outcomes: Outcome[] = [];
  for (let done = 0; done < repeat; done += 1) {
    outcomes.push(await watchVitest(signal, { project, args: [...files, ...args], env }));
  }
  return sum(outcomes);
}

/** A real API server without nodes. */
async function clusterRing(request: Request, parts: TestParts): Promise<Outcome> {
  const labs = labNames("test-cluster", availableParallelism()).map((name) =>
    labStart(request, parts, { name, nodes: 0 }),
  );
  return await labRing(request, parts, { project: "cluster", labs });
}

/** Real nodes with the driver installed, and as the last step in each lab the proof that nothing is left in it. */
async function nodeRing(request: Request, { parts, archives }: TestArtifacts): Promise<Outcome> {
  const { signal, progress } = request;
  const labs = labNames("test-node", availableParallelism() + 1).map((name) =>
    labStart(request, parts, { name, nodes: 2 }, async (lab) => {
      await loadImages(signal, lab, archives, progress);
      await installDriver(signal, lab, progress);
    }),
  );
  const isWhole = request.files === undefined && request.lab === undefined;
  return await labRing(request, parts, { project: "node", labs, ...(isWhole ? { lastProject: "node-end" } : {}) });
}

interface LabRing {
  readonly project: "cluster" | "node";
  readonly labs: readonly StartLab[];
  readonly lastProject?: string;
}

async function labRing(request: Request, parts: TestParts, ring: LabRing): Promise<Outcome> {
  const { signal, progress, args, repeat } = request;
  const env = { ...request.env, HELM: join(parts.kubernetes, "helm"), CSI_SANITY: parts.csiSanity };
  if (request.lab !== undefined) return await watchIn(request.lab, ring, { ...request, env });
  const files = request.files ?? filesOf(ring.project);
  const [first] = ring.labs;
  if (first !== undefined && files.length * repeat === 1) {
    await using started = await first();
    return await watchIn(started.lab, ring, { ...request, env });
  }
  const once = longestFirst(files, await readTimes());
  const repeated = Array.from({ length: repeat }, () => once).flat();
  return await runInLabs(signal, progress, { ...ring, files: repeated, args, env, run: captureVitest });
}

/** One file, or a lab of somebody's own: nothing runs at the same time, so the output can be seen as it comes. */
async function watchIn(lab: Lab, { project }: LabRing, { signal, files = [], args, env }: Request): Promise<Outcome> {
  return await watchVitest(signal, { project, lab, env, args: [...files, ...args] });
}

function labNames(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}`);
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

interface TestParts extends Parts {
  readonly csiSanity: string;
}

interface TestArtifacts {
  readonly parts: TestParts;
  readonly archives: readonly string[];
}

async function testParts({ signal, progress }: Request): Promise<TestParts> {
  await prepare(signal);
  const parts = await buildParts(signal, progress);
  return { ...parts, csiSanity: await csiSanityPart(signal, progress) };
}

async function testArtifacts({ signal, progress }: Request): Promise<TestArtifacts> {
  await prepare(signal);
  const { parts, support, driver } = await buildArtifacts(signal, progress);
  const csiSanity = await csiSanityPart(signal, progress);
  return { parts: { ...parts, csiSanity }, archives: [...support, driver.archive] };
}

async function prepare(signal: AbortSignal): Promise<void> {
  await checkMachine();
  await run(["npm", "run", "--silent", "native"], { signal, cwd: checkout });
}

/** A ring can be run over and over in a lab of its own choice, for the one who works on it. */
function runningLab(name: string | undefined): { readonly lab?: Lab } {
  if (name === undefined) return {};
  const lab = Lab.open(name);
  if (lab === undefined) throw new Problem(`lab "${name}" is not running`, `start it: ./dev up --name ${name}`);
  return { lab };
}

function repeatCount(given: string | undefined): number {
  const count = Number(given ?? 1);
  if (Number.isInteger(count) && count >= 1) return count;
  throw new Problem(`--repeat ${given} is not a number of runs`, "write --repeat 10 FILE");
}

function unknownRing(name: string): Problem {
  const known = ["static", "unit", "wire", "cluster", "node", "smoke", "long"];
  return new Problem(`there is no ring "${name}"`, `use one of: ${known.join(", ")}, or name a test file`);
}
