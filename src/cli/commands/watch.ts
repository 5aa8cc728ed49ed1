/** `kubectl s3 watch`: the tree, drawn again whenever something changes. */

import { buildTopology } from "../../topology/build-topology.ts";
import type { Cluster } from "../../topology/cluster.ts";
import { paths } from "../../topology/paths.ts";
import type { ApiServer } from "../api/api-server.ts";
import { readCluster } from "../cluster/read-cluster.ts";
import type { Session } from "../program.ts";
import { treeText } from "./tree.ts";

/** Changes come in bursts: several objects change when one Pod starts. */
const settleMs = 300;
/** The end of a watch, or its failure, is answered by a new read. */
const retryMs = 2000;

export async function watchCommand({ signal, api, options, terminal }: Session): Promise<void> {
  while (!signal.aborted) {
    const cluster = await readCluster(signal, api, options);
    const topology = buildTopology(cluster);
    // Home and erase below: less flicker than clearing the screen first.
    const home = terminal.isTerminal ? "\u001B[H\u001B[J" : "";
    terminal.print(`${home}${treeText(topology, terminal.style)}\n${topology.context}  ${topology.readAt}\n`);
    await nextChange(signal, api, watchedPaths(cluster, options.namespace));
  }
}

function watchedPaths({ claimsOnly, namespaces }: Cluster, namespace: string | undefined): readonly string[] {
  if (claimsOnly === true) return [paths.claims(namespace), paths.pods(namespace)];
  return [paths.attachments, paths.volumes, paths.pods(namespaces.mountpointPods)];
}

/** Resolves at the first change of anything that is watched, or when a watch ends. Never rejects. */
async function nextChange(signal: AbortSignal, api: ApiServer, watched: readonly string[]): Promise<void> {
  const stop = new AbortController();
  const until = AbortSignal.any([signal, stop.signal]);
  try {
    await Promise.race(watched.map((path) => firstChange(until, api, path)));
  } catch {
    await elapsed(signal, retryMs);
  } finally {
    stop.abort();
  }
  await elapsed(signal, settleMs);
}

async function firstChange(signal: AbortSignal, api: ApiServer, path: string): Promise<void> {
  const { metadata } = await api.json<{ metadata: { resourceVersion: string } }>(signal, { path: `${path}?limit=1` });
  const query = new URLSearchParams({ watch: "true", resourceVersion: metadata.resourceVersion });
  const lines = await api.lines(signal, `${path}?${query.toString()}`);
  await lines.next();
  await lines.return(undefined);
}

async function elapsed(signal: AbortSignal, ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
