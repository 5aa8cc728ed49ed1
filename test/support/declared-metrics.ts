/** The metrics that each program declares, as `src/bin` puts them together. */
import type { Registry } from "prom-client";
import { CsiControllerMetrics } from "../../src/csi-controller/metrics.ts";
import { type Program, ProgramMetrics } from "../../src/metrics/program-metrics.ts";
import { apiRequests, csiCalls, storeRequests } from "../../src/metrics/requests.ts";
import { figures } from "../../src/node/figures/volume-figures.ts";
import { credentialsMetric } from "../../src/node/figures/volume-metrics.ts";
import { NodeMetrics } from "../../src/node/metrics.ts";
import { ReconcilerMetrics } from "../../src/reconciler/metrics.ts";
import { emptyView } from "../../src/reconciler/observe/view.ts";
import { Progress } from "../../src/runtime/progress.ts";
import { UiMetrics } from "../../src/ui-server/metrics.ts";

const declarations: Readonly<Record<Program["component"], (registry: Registry) => unknown>> = {
  "s3-plugin": (registry) => {
    csiCalls(registry);
    new NodeMetrics(registry).measureSources({ conditions: [], dead: { size: 0 } });
  },
  "s3-pod-reconciler": (registry) => new ReconcilerMetrics(registry).measure(emptyView()),
  "s3-csi-controller": (registry) => {
    csiCalls(registry);
    storeRequests(registry);
    return new CsiControllerMetrics(registry);
  },
  "s3-csi-ui": (registry) => new UiMetrics(registry).measure({ viewers: 0 }),
};

export interface DeclaredMetric {
  readonly name: string;
  readonly type: string;
}

/** Of all programs, each once, sorted by name. */
export function declaredMetrics(): readonly DeclaredMetric[] {
  const found = new Map<string, DeclaredMetric>();
  for (const [component, declare] of Object.entries(declarations)) {
    const program = { component: component as Program["component"], version: "3.0.0", progress: new Progress() };
    using metrics = new ProgramMetrics({ ...program, served: false });
    apiRequests(metrics.registry);
    declare(metrics.registry);
    const all = metrics.registry.getMetricsAsArray() as unknown as readonly DeclaredMetric[];
    for (const { name, type } of all) found.set(name, { name, type });
  }
  for (const [name, { kind }] of Object.entries(figures)) {
    found.set(name, { name: `s3_csi_volume_${name}`, type: kind });
  }
  found.set(credentialsMetric.name, { name: credentialsMetric.name, type: credentialsMetric.kind });
  return [...found.values()].toSorted((a, b) => a.name.localeCompare(b.name));
}
