/**
 * Runs test files in several labs at the same time. Each lab has one file at a time, so every file has its cluster and its
 * nodes for itself: it may restart the node plugin, drain a node or reinstall the driver without disturbing another.
 * Tests mostly wait, so there may be more labs than cores.
 */
import { basename } from "node:path";
import { cpuSecondsOf, cpuSecondsOfCgroups } from "../cpu-time.ts";
import type { Lab } from "../lab.ts";
import { elapsed, type Progress, type Task } from "../progress.ts";
import { failure, hasPassed, type Outcome, sum } from "./results.ts";
import type { Finished, VitestRun } from "./vitest.ts";

export interface LabPool {
  readonly project: string;
  /** In this order; a lab takes the next one when it has finished its last. */
  readonly files: readonly PoolFile[];
  readonly labs: readonly StartLab[];
  /** A lab that helps from a later moment on, if there is enough left to do. */
  readonly helper?: Helper;
  readonly args: readonly string[];
  /** A project that runs in each lab after its last file. */
  readonly lastProject?: string;
  readonly run: (signal: AbortSignal, run: VitestRun) => Promise<Finished>;
}

export interface PoolFile {
  readonly file: string;
  readonly env: NodeJS.ProcessEnv;
  /** Where tests are chosen by name, a file may have none of them. */
  readonly mayBeEmpty?: boolean;
}

export interface Helper {
  readonly start: StartLab;
  /** Resolves when there is room for it on the machine. */
  readonly when: Promise<unknown>;
}

/** With fewer files its start takes longer than what it saves. */
const worthHelping = 6;

/** A lab that is ready for tests, and ends with the scope. */
export type StartLab = () => Promise<AsyncDisposable & { readonly lab: Lab }>;

export async function runInLabs(signal: AbortSignal, progress: Progress, pool: LabPool): Promise<Outcome> {
  return await progress.task(`${pool.project} ring`, async (task) => {
    const queue = new Queue(pool.files, task);
    const labs = pool.labs.slice(0, pool.files.length);
    const workers = labs.map((start) => workOff(signal, { progress, pool, queue, start }));
    const helper = pool.helper && help(signal, { progress, pool, queue, start: pool.helper.start }, pool.helper.when);
    const outcomes = await Promise.all([...workers, ...(helper === undefined ? [] : [helper])]);
    const left = queue.left().map(({ file }) => failure(file, "not run: no lab was left to run it in"));
    return sum([...outcomes, ...left]);
  });
}

class Queue {
  readonly #files: PoolFile[];
  readonly #all: number;
  readonly #task: Task;
  #done = 0;

  constructor(files: readonly PoolFile[], task: Task) {
    this.#files = [...files];
    this.#all = files.length;
    this.#task = task;
  }

  /** Undefined when no file is left. */
  next(): PoolFile | undefined {
    return this.#files.shift();
  }

  finished(): void {
    this.#done += 1;
    this.#task.at(`${this.#done} of ${this.#all} files`);
  }

  left(): readonly PoolFile[] {
    return this.#files;
  }
}

interface LabWork {
  readonly progress: Progress;
  readonly pool: LabPool;
  readonly queue: Queue;
  readonly start: StartLab;
}

async function help(signal: AbortSignal, work: LabWork, when: Promise<unknown>): Promise<Outcome> {
  await when;
  return work.queue.left().length < worthHelping ? sum([]) : await workOff(signal, work);
}

/** A lab that does not start, or breaks, is a failure; what it has found so far counts, and the others go on with its share. */
async function workOff(signal: AbortSignal, work: LabWork): Promise<Outcome> {
  const { pool, queue, start } = work;
  const outcomes: Outcome[] = [];
  let at = "its start";
  try {
    await using ready = await start();
    let env: NodeJS.ProcessEnv = {};
    for (let next = queue.next(); next !== undefined; next = queue.next()) {
      ({ file: at, env } = next);
      const run = { project: pool.project, args: [at, ...pool.args], env };
      outcomes.push(await runFile(signal, work, { lab: ready.lab, run, mayBeEmpty: next.mayBeEmpty ?? false }));
      queue.finished();
    }
    at = pool.lastProject ?? "its end";
    if (pool.lastProject !== undefined) {
      outcomes.push(await runFile(signal, work, { lab: ready.lab, run: { project: at, env }, mayBeEmpty: false }));
    }
    at = "its end";
  } catch (error) {
    signal.throwIfAborted();
    const because = error instanceof Error ? error.message : String(error);
    outcomes.push(failure(`a lab of the ${pool.project} ring`, `broke at ${at}: ${because}`));
  }
  return sum(outcomes);
}

interface FileRun {
  readonly lab: Lab;
  readonly run: VitestRun;
  readonly mayBeEmpty: boolean;
}

async function runFile(
  signal: AbortSignal,
  { progress, pool }: LabWork,
  { lab, run, mayBeEmpty }: FileRun,
): Promise<Outcome> {
  const started = Date.now();
  const cpuBefore = labCpuSeconds(lab);
  const { outcome, output } = await pool.run(signal, { ...run, lab });
  const cpu = labCpuSeconds(lab) - cpuBefore;
  const passed = outcome.results.filter(hasPassed).length;
  const isEmpty = outcome.results.length === 0 && !mayBeEmpty;
  const isGood = passed === outcome.results.length && !isEmpty;
  if (!isGood) process.stdout.write(`${output}\n`);
  const path = run.args?.[0] ?? run.project;
  progress.say(`  ${isGood ? "✓" : "✗"} ${lab.spec.name} ${basename(path)}: ${passed} passed (${elapsed(started)})`);
  // A lab's programs may have been restarted meanwhile, and begin at 0 again.
  const labCpu = Math.max(0, cpu);
  const files = outcome.files.map((file) => Object.assign({}, file, { labCpuSeconds: labCpu }));
  return sum([{ ...outcome, files }, ...(isEmpty ? [failure(path, "no test of it ran")] : [])]);
}

/** Programs of the control plane and of the nodes, and all containers. */
function labCpuSeconds(lab: Lab): number {
  const pids = lab.componentNames().flatMap((name) => lab.component(name).process?.pid ?? []);
  const programs = pids.reduce((total, pid) => total + cpuSecondsOf(pid), 0);
  return programs + cpuSecondsOfCgroups(lab.layout.cgroups);
}
