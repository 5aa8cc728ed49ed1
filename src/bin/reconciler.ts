/** The Pod Reconciler: decides which Mountpoint Pods should exist and which workloads each of them serves. */
import { type ApiServerLocation, reconcilerConfigFrom } from "../controller/config.ts";
import { runReconciler } from "../controller/run-reconciler.ts";
import { serveHealth } from "../csi/health.ts";
import { KubeClient } from "../kube/client.ts";
import { inClusterCredentials, kubeconfigCredentials } from "../kube/credentials.ts";
import { jsonLogger, type Logger } from "../runtime/log.ts";
import { Progress } from "../runtime/progress.ts";
import { version as driverVersion } from "./version.ts";

const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => stop.abort(new DOMException(`received ${signal}`, "AbortError")));
}

const loggerOf = (verbosity: number): Logger => jsonLogger((line) => process.stderr.write(line), verbosity);

function credentialsFor(location: ApiServerLocation) {
  return "kubeconfig" in location ? kubeconfigCredentials(location.kubeconfig) : inClusterCredentials(location);
}

async function run(): Promise<void> {
  const config = reconcilerConfigFrom(process.argv.slice(2), process.env, driverVersion);
  const call = { signal: stop.signal, log: loggerOf(config.verbosity) };
  const { healthPort, mountpointPods } = config;
  call.log.info("Pod Reconciler starts", { driverVersion, mountpointNamespace: mountpointPods.namespace });

  using client = new KubeClient(credentialsFor(config.apiServer), { userAgent: `s3-pod-reconciler/${driverVersion}` });
  let complete = false;
  const readiness = () =>
    complete ? ({ ready: true } as const) : ({ ready: false, because: "the cluster is not known yet" } as const);
  const progress = new Progress();
  const health = { readiness, liveness: progress.liveness };
  await using _ = healthPort === undefined ? undefined : await serveHealth(call, healthPort, health);
  await runReconciler(call, client, {
    ...config,
    progress,
    onReady: () => {
      complete = true;
    },
  });
  call.log.info("Pod Reconciler stopped");
}

try {
  await run();
} catch (error) {
  if (!stop.signal.aborted) {
    loggerOf(0).info("Pod Reconciler failed", { error });
    process.exitCode = 1;
  }
}
