/** A clock that moves only when nothing is left to do at its present time, and the order in which things happen. */
import { setImmediate as nextTurn } from "node:timers/promises";

/** Kept from before any module of Node is replaced. */
const realTurn = nextTurn;

interface Task {
  readonly atMs: number;
  /** Tasks of the same time run in the order of their making. */
  readonly number: number;
  run: (() => void) | undefined;
}

export class VirtualTime {
  #nowMs = 0;
  #made = 0;
  /** A binary heap, the earliest first. */
  readonly #tasks: Task[] = [];
  readonly #atEnd: (() => void)[] = [];

  get nowMs(): number {
    return this.#nowMs;
  }

  /** The result cancels the task. */
  after(delayMs: number, run: () => void): () => void {
    this.#made += 1;
    const task: Task = { atMs: this.#nowMs + Math.max(0, delayMs), number: this.#made, run };
    this.#push(task);
    return () => {
      task.run = undefined;
    };
  }

  /** Runs every task up to this time, each after all promises that the earlier ones have settled. */
  async runUntil(endMs: number): Promise<void> {
    while (this.#tasks[0] !== undefined && this.#tasks[0].atMs <= endMs) {
      const { atMs, run } = this.#pop();
      if (run === undefined) continue;
      this.#nowMs = atMs;
      run();
      await realTurn();
    }
    this.#nowMs = endMs;
  }

  /** When the story is over. */
  atEnd(run: () => void): void {
    this.#atEnd.push(run);
  }

  /** Resolves when whoever waits for the end has worked. Nothing happens afterwards: no task runs any more. */
  async end(): Promise<void> {
    for (const run of this.#atEnd) run();
    await realTurn();
  }

  #push(task: Task): void {
    const tasks = this.#tasks;
    let at = tasks.length;
    tasks.push(task);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(task, tasks[parent] as Task)) break;
      tasks[at] = tasks[parent] as Task;
      at = parent;
    }
    tasks[at] = task;
  }

  #pop(): Task {
    const tasks = this.#tasks;
    const first = tasks[0] as Task;
    const last = tasks.pop() as Task;
    if (tasks.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= tasks.length) break;
      if (child + 1 < tasks.length && isBefore(tasks[child + 1] as Task, tasks[child] as Task)) child += 1;
      if (!isBefore(tasks[child] as Task, last)) break;
      tasks[at] = tasks[child] as Task;
      at = child;
    }
    tasks[at] = last;
    return first;
  }
}

function isBefore(a: Task, b: Task): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.number < b.number);
}
