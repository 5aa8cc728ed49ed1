/** The Pod Reconciler: decides which Mountpoint Pods should exist and which workloads each of them serves. */

import { serveHealth } from "../csi/health.ts";
import { credentialsAt } from "../kube/client/api-location.ts";
import { KubeClient } from "../kube/client/client.ts";
import { WatchHealth } from "../kube/watch/watch-health.ts";
import { ProgramMetrics } from "../metrics/program-metrics.ts";
import { apiRequests } from "../metrics/requests.ts";
import { reconcilerConfigFrom } from "../reconciler/config.ts";
import { ReconcilerMetrics } from "../reconciler/metrics.ts";
import { runReconciler } from "../reconciler/run-reconciler.ts";
import { runProgram, stderrLogger } from "../runtime/program.ts";
import { Progress } from "../runtime/progress.ts";
import { scrapedFrom } from "./scraped.ts";
import { version as driverVersion } from "./version.ts";

async function run(signal: AbortSignal): Promise<void> {
  const config = reconcilerConfigFrom(process.argv.slice(2), process.env, driverVersion);
  const call = { signal, log: stderrLogger(config.verbosity) };
  const { healthPort, mountpointPods } = config;
  call.log.info("Pod Reconciler starts", { driverVersion, mountpointNamespace: mountpointPods.namespace });

  const progress = new Progress();
  const program = { component: "s3-pod-reconciler", version: driverVersion, progress, served: config.metrics } as const;
  using metrics = new ProgramMetrics(program);
  using client = new KubeClient(credentialsAt(config.api), {
    userAgent: `s3-pod-reconciler/${driverVersion}`,
    onAnswered: apiRequests(metrics.registry),
  });
  let synced = false;
  let mayLead = true;
  const watchHealth = new WatchHealth();
  const readiness = () => {
    if (!synced) return { ready: false, because: "the caches are not synced yet" } as const;
    if (!mayLead) return { ready: false, because: "this account may not use the required lease" } as const;
    return watchHealth.readiness();
  };
  const health = { readiness, liveness: progress.liveness, metrics: scrapedFrom(metrics, client, config) };
  await using _ = healthPort === undefined ? undefined : await serveHealth(call, healthPort, health);
  await runReconciler(call, client, {
    ...config,
    progress,
    watchHealth,
    metrics: new ReconcilerMetrics(metrics.registry),
    onReady: () => {
      synced = true;
    },
    onLeaseForbidden: (isForbidden) => {
      mayLead = !isForbidden;
    },
  });
}

await runProgram("Pod Reconciler", run);
