/** `kubectl s3 move`: asks for running mounts to be moved to new Mountpoint Pods, a few at a time, and waits for it. */
import { annotations } from "../../core/names.ts";
import { buildTopology } from "../../topology/build-topology.ts";
import type { AttachmentObject, Pod } from "../../topology/objects.ts";
import { paths } from "../../topology/paths.ts";
import { isNotFound } from "../api/request-errors.ts";
import { readCluster } from "../cluster/read-cluster.ts";
import { type Movable, type MoveState, movableIn, stateOf } from "../move/plan-move.ts";
import { formatted } from "../output/format.ts";
import { table } from "../output/table.ts";
import type { Session } from "../program.ts";
import { UserError } from "../user-error.ts";

export interface MoveOptions {
  readonly node?: string;
  readonly all: boolean;
  readonly dryRun: boolean;
  readonly parallel: string;
}

/** The reconciler gives up a successor that does not serve within five minutes. */
const limitMs = 600_000;
const pollMs = 500;

/** Returns the exit code: 1 if a mount was not moved. */
export async function moveCommand(session: Session, name: string | undefined, options: MoveOptions): Promise<number> {
  const { signal, api, terminal } = session;
  const atOnce = Number(options.parallel);
  if (!Number.isInteger(atOnce) || atOnce < 1) throw new UserError("--parallel must be an integer ≥ 1", "--parallel 2");
  const topology = buildTopology(
    await terminal.progress("reading the cluster", readCluster(signal, api, session.options)),
  );
  const movable = movableIn(topology, { name, node: options.node, all: options.all });
  if (options.dryRun || movable.length === 0) {
    const none = "There is no Mountpoint Pod with workloads to move.\n";
    terminal.print(formatted(session.options.output, movable, () => (movable.length === 0 ? none : tableOf(movable))));
    return 0;
  }
  return (await moveAll(session, movable, atOnce)) ? 0 : 1;
}

function tableOf(movable: readonly Movable[]): string {
  return table(
    [
      { title: "VOLUME", value: ({ volume }) => volume },
      { title: "NODE", value: ({ node }) => node },
      { title: "MOUNTPOINT POD", value: ({ mountpointPod }) => mountpointPod },
      { title: "VERSION", value: ({ version }) => version },
      { title: "PODS", value: ({ workloads }) => String(workloads) },
    ],
    movable,
  );
}

/** No further move is begun after one has failed. */
async function moveAll(session: Session, movable: readonly Movable[], atOnce: number): Promise<boolean> {
  const request = new Date().toISOString();
  const waiting = [...movable];
  let isFailed = false;
  const worker = async () => {
    while (!isFailed) {
      const next = waiting.shift();
      if (next === undefined) return;
      const state = await moveOne(session, next, request);
      const text = "because" in state ? `not moved: ${state.because}` : "moved";
      session.terminal.print(`${next.volume} on ${next.node}: ${text}\n`);
      if (state.is !== "moved") isFailed = true;
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, movable.length) }, worker));
  if (isFailed && waiting.length > 0) session.terminal.printError(`${waiting.length} more were not begun\n`);
  return !isFailed;
}

async function moveOne({ signal, api, terminal }: Session, move: Movable, request: string): Promise<MoveState> {
  const path = `${paths.pods(move.namespace)}/${move.mountpointPod}`;
  const body = { metadata: { annotations: { [annotations.move]: request } } };
  await api.json(signal, { method: "PATCH", path, body });
  const until = Date.now() + limitMs;
  const wait = async (): Promise<MoveState> => {
    while (Date.now() < until) {
      const [pod, attachment] = await Promise.all([
        unlessGone(api.json<Pod>(signal, { path })),
        unlessGone(api.json<AttachmentObject>(signal, { path: `${paths.attachments}/${move.attachment}` })),
      ]);
      const state = stateOf(move, request, pod, attachment);
      if (state.is !== "waiting") return state;
      await new Promise((resolve) => setTimeout(resolve, pollMs));
      signal.throwIfAborted();
    }
    return { is: "failed", because: `it was not moved within ${limitMs / 60_000} minutes, and is still requested` };
  };
  return await terminal.progress(`moving ${move.volume} on ${move.node}`, wait());
}

async function unlessGone<Shape>(request: Promise<Shape>): Promise<Shape | undefined> {
  try {
    return await request;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
