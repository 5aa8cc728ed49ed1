/** What GitOps tools do with objects that the chart no longer renders. */
import type { Manifest } from "../chart/rendered-chart.ts";
import type { Cluster } from "./cluster.ts";

/** By which annotation of the object in the cluster each tool leaves it. */
const keptBy = {
  "Argo CD": ["argocd.argoproj.io/sync-options", /(^|,)Prune=false(,|$)/],
  Flux: ["kustomize.toolkit.fluxcd.io/prune", /^disabled$/],
} as const;

export type PruningTool = keyof typeof keptBy;
export const pruningTools = Object.keys(keptBy) as readonly PruningTool[];

/** Deletes with kubectl what is in the first rendering and not in the second; gives what the tool left, as KIND NAME. */
export async function prune(
  cluster: Cluster,
  tool: PruningTool,
  [before, after]: readonly [readonly Manifest[], readonly Manifest[]],
): Promise<readonly string[]> {
  const rendered = new Set(after.map(idOf));
  const left: string[] = [];
  for (const manifest of before.filter((one) => !rendered.has(idOf(one)))) {
    const { kind, metadata } = manifest;
    const where = metadata.namespace === undefined ? [] : ["-n", metadata.namespace];
    const live = await cluster.get(kind, metadata.name, ...where);
    const [annotation, pattern] = keptBy[tool];
    if (pattern.test(live?.metadata.annotations?.[annotation] ?? "")) left.push(`${kind} ${metadata.name}`);
    else await cluster.kubectl("delete", kind, metadata.name, ...where, "--wait=false");
  }
  return left;
}

function idOf({ kind, metadata }: Manifest): string {
  return `${kind}/${metadata.namespace ?? ""}/${metadata.name}`;
}
