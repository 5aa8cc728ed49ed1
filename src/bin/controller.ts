/** The CSI controller service: creates and deletes the buckets of dynamic volumes. The csi-provisioner sidecar calls it. */
import { randomUUID } from "node:crypto";
import { InFlight } from "../core/in-flight.ts";
import { serveHealth } from "../csi/health.ts";
import { identityService } from "../csi/identity.ts";
import { serve } from "../csi/server.ts";
import { checkStore } from "../csi-controller/check-store.ts";
import { clusterIdFrom } from "../csi-controller/cluster-id.ts";
import { type CsiControllerConfig, csiControllerConfigFrom } from "../csi-controller/config.ts";
import { keptDataReporter } from "../csi-controller/kept-data.ts";
import { CsiControllerMetrics } from "../csi-controller/metrics.ts";
import { activeWithLeader, orphanReporter } from "../csi-controller/orphans/orphan-reports.ts";
import { searchOrphans } from "../csi-controller/orphans/orphans.ts";
import { bucketsOf } from "../csi-controller/secrets/access.ts";
import { ClassesWithSecrets } from "../csi-controller/secrets/classes-with-secrets.ts";
import { provisionerSecrets } from "../csi-controller/secrets/provisioner-secrets.ts";
import { SecretProtection } from "../csi-controller/secrets/secret-protection.ts";
import { SecretRecords } from "../csi-controller/secrets/secret-records.ts";
import { controllerService } from "../csi-controller/service.ts";
import { claimUids, secretsNeededNow, VolumeCache } from "../csi-controller/volume-cache.ts";
import { credentialsAt } from "../kube/client/api-location.ts";
import { KubeClient } from "../kube/client/client.ts";
import { EventRecorder } from "../kube/events.ts";
import { orAborted } from "../kube/or-aborted.ts";
import { ProgramMetrics } from "../metrics/program-metrics.ts";
import { apiRequests, csiCalls, storeRequests } from "../metrics/requests.ts";
import type { Call } from "../runtime/call.ts";
import { runProgram, stderrLogger } from "../runtime/program.ts";
import { Progress } from "../runtime/progress.ts";
import { ObjectStore } from "../s3/object-store.ts";
import { trusted } from "../s3/trust.ts";
import { scrapedFrom } from "./scraped.ts";
import { version } from "./version.ts";

async function run(call: Call, config: CsiControllerConfig): Promise<void> {
  const { api, driverCredentials, ...shown } = config;
  call.log.info("CSI controller service starts", { version, ...shown, driverCredentials: driverCredentials.from });
  const progress = new Progress();
  using metrics = new ProgramMetrics({ component: "s3-csi-controller", version, progress, served: config.metrics });
  const { registry } = metrics;
  const ofClient = { userAgent: `s3-csi-controller/${version}`, onAnswered: apiRequests(registry) };
  using client = new KubeClient(credentialsAt(api), ofClient);
  const { s3, proxy, caBundle, systemRoots } = config;
  const settings = { ...s3, proxy, trusted: trusted(caBundle, systemRoots), onAnswered: storeRequests(registry) };
  using store = new ObjectStore({ ...settings, userAgent: `s3-csi-driver/${version}` });
  const volumes = new VolumeCache();
  const classes = new ClassesWithSecrets();
  await using events = new EventRecorder(client, { component: "s3-csi-controller" });
  const protection =
    config.protectedSecrets &&
    new SecretProtection({
      records: new SecretRecords(client, config.protectedSecrets),
      volumes,
      neededNow: (each) => secretsNeededNow(each, client),
      self: randomUUID(),
    });
  const allowFallback = config.fallbackToDriverCredentials;
  const shared = { openBuckets: bucketsOf(store, client, config), volumes, clusterId: clusterIdFrom(client) };
  const orphanSearch = {
    ...shared,
    claims: (each: Call) => claimUids(each, client),
    isActive: activeWithLeader(client, config.pod),
    report: orphanReporter(events, config.pod),
  };

  await using running = new AsyncDisposableStack();
  // Ends after the gRPC server: calls in progress need the caches until they are answered.
  const backgroundEnd = new AbortController();
  const background = { signal: backgroundEnd.signal, log: call.log };
  const backgroundWork = Promise.all([
    volumes.run(background, client, progress.pulse("watch over volumes")),
    classes.run(background, client, progress.pulse("watch over classes")),
    searchOrphans(background, orphanSearch, config.orphans),
    protection?.run(background),
  ]);
  running.defer(async () => {
    backgroundEnd.abort(call.signal.reason);
    await backgroundWork;
  });
  const service = controllerService({
    ...shared,
    inFlight: new InFlight(),
    reportKept: keptDataReporter(events, new CsiControllerMetrics(registry)),
    secrets: provisionerSecrets({ client, classes, events, protection, allowFallback }),
  });
  let synced = false;
  const readiness = () =>
    synced ? ({ ready: true } as const) : ({ ready: false, because: "the caches are not synced yet" } as const);
  const identity = identityService({ version, readiness, servesController: true });
  running.use(await serve(call, config.endpoint, [identity, service], { onAnswered: csiCalls(registry) }));
  const health = { readiness, liveness: progress.liveness, metrics: scrapedFrom(metrics, client, config) };
  if (config.healthPort !== undefined) running.use(await serveHealth(call, config.healthPort, health));
  await Promise.all([volumes.synced(call), classes.synced(call)]);
  synced = true;
  await orAborted(call, backgroundWork);
}

/** The last line on stdout is the result. */
async function runStoreCheck(call: Call, config: CsiControllerConfig): Promise<void> {
  const { api, s3, proxy, caBundle, systemRoots } = config;
  const userAgent = `s3-csi-driver/${version}`;
  using client = new KubeClient(credentialsAt(api), { userAgent });
  using store = new ObjectStore({ ...s3, proxy, trusted: trusted(caBundle, systemRoots), userAgent });
  const result = await checkStore(call, bucketsOf(store, client, config));
  process.stdout.write(`${JSON.stringify({ checkStore: result })}\n`);
}

await runProgram("CSI controller service", (signal) => {
  const config = csiControllerConfigFrom(process.argv.slice(2), process.env);
  const call = { signal, log: stderrLogger(config.verbosity) };
  return config.checkStore ? runStoreCheck(call, config) : run(call, config);
});
