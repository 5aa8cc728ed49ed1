/** `kubectl s3 watch`: the tree, drawn again whenever something changes. */
import { elapsed } from "../../page/elapsed.ts";
import { buildTopology } from "../../topology/build-topology.ts";
import type { Cluster } from "../../topology/cluster.ts";
import { paths } from "../../topology/paths.ts";
import type { ApiServer } from "../api/api-server.ts";
import { readCluster } from "../cluster/read-cluster.ts";
import { fitted } from "../output/fitted.ts";
import { printable } from "../output/table.ts";
import type { Terminal } from "../output/terminal.ts";
import type { Session } from "../program.ts";
import { treeText } from "./tree.ts";

/** Changes come in bursts: several objects change when one Pod starts. */
const settleMs = 300;
const retryMs = 2000;
/** The server ends a watch then. */
const watchSeconds = 240;
/** A connection that is dead without an error. */
const watchLimitMs = 300_000;

/** Rejects if the cluster cannot be read at the start. A failure after that is shown, and the cluster is read again. */
export async function watchCommand({ signal, api, options, terminal }: Session): Promise<void> {
  let cluster = await terminal.progress("reading the cluster", readCluster(signal, api, options));
  draw(terminal, cluster, "");
  while (!signal.aborted) {
    try {
      // From before the cluster is read: what changes while it is read is not missed.
      const watched = await versionsOf(signal, api, watchedPaths(cluster, options.namespace));
      cluster = await readCluster(signal, api, options);
      draw(terminal, cluster, "");
      await nextChange(signal, api, watched);
      await elapsed(signal, settleMs);
    } catch (error) {
      if (signal.aborted) return;
      draw(terminal, cluster, (error as Error).message);
      await elapsed(signal, retryMs);
    }
  }
}

function draw({ isTerminal, style, size, print }: Terminal, cluster: Cluster, problem: string): void {
  const topology = buildTopology(cluster);
  const trouble = problem === "" ? "" : `${style.health("problem", `! out of date: ${printable(problem)}`)}\n`;
  const foot = `\n${topology.context}  ${topology.readAt}\n${trouble}`;
  const tree = treeText(topology, style);
  // Home and erase below: less flicker than clearing the screen first.
  print(isTerminal ? `\u001B[H\u001B[J${fitted(tree, foot, size())}` : `${tree}${foot}`);
}

function watchedPaths({ claimsOnly, namespaces }: Cluster, namespace: string | undefined): readonly string[] {
  if (claimsOnly === true) return [paths.claims(namespace), paths.pods(namespace)];
  return [paths.attachments, paths.volumes, paths.pods(namespaces.mountpointPods)];
}

interface Watched {
  readonly path: string;
  readonly version: string;
}

async function versionsOf(signal: AbortSignal, api: ApiServer, all: readonly string[]): Promise<readonly Watched[]> {
  return await Promise.all(
    all.map(async (path) => {
      const { metadata } = await api.json<{ metadata: { resourceVersion: string } }>(signal, {
        path: `${path}?limit=1`,
      });
      return { path, version: metadata.resourceVersion };
    }),
  );
}

/** Resolves at the first change of anything that is watched, or when a watch ends. Rejects if one of them fails. */
async function nextChange(signal: AbortSignal, api: ApiServer, watched: readonly Watched[]): Promise<void> {
  const stop = new AbortController();
  const until = AbortSignal.any([signal, stop.signal]);
  const changes = watched.map((each) => firstChange(until, api, each));
  try {
    await Promise.race([...changes, elapsed(until, watchLimitMs)]);
  } finally {
    stop.abort();
    await Promise.allSettled(changes);
  }
}

async function firstChange(signal: AbortSignal, api: ApiServer, { path, version }: Watched): Promise<void> {
  const query = new URLSearchParams({
    ...{ watch: "true", timeoutSeconds: String(watchSeconds) },
    resourceVersion: version,
  });
  const lines = await api.lines(signal, `${path}?${query.toString()}`);
  await lines.next();
  await lines.return(undefined);
}
