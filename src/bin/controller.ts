/** The CSI controller service: creates and deletes the buckets of dynamic volumes. The csi-provisioner sidecar calls it. */
import { randomUUID } from "node:crypto";
import { InFlight } from "../core/in-flight.ts";
import type { Store } from "../core/stores/store.ts";
import { serveHealth } from "../csi/health.ts";
import { identityService } from "../csi/identity.ts";
import { serve } from "../csi/server.ts";
import type { OpenBuckets } from "../csi-controller/buckets.ts";
import { checkStores } from "../csi-controller/check-store.ts";
import { clusterIdFrom } from "../csi-controller/cluster-id.ts";
import { type CsiControllerConfig, csiControllerConfigFrom } from "../csi-controller/config.ts";
import { keptDataReporter } from "../csi-controller/kept-data.ts";
import { pendingClaimUids, secretsNeededNow } from "../csi-controller/listed-now.ts";
import { CsiControllerMetrics } from "../csi-controller/metrics.ts";
import { activeWithLeader, orphanReporter } from "../csi-controller/orphans/orphan-reports.ts";
import { searchOrphans } from "../csi-controller/orphans/orphans.ts";
import { ClassesWithSecrets } from "../csi-controller/secrets/classes-with-secrets.ts";
import { provisionerSecrets } from "../csi-controller/secrets/provisioner-secrets.ts";
import { SecretProtection } from "../csi-controller/secrets/secret-protection.ts";
import { SecretRecords } from "../csi-controller/secrets/secret-records.ts";
import { controllerService } from "../csi-controller/service.ts";
import { driverCredentials, isDriverKnownAt } from "../csi-controller/stores/driver-credentials.ts";
import { ObjectStores } from "../csi-controller/stores/object-stores.ts";
import { bucketsOf } from "../csi-controller/stores/open-buckets.ts";
import { ProvisionerSessions } from "../csi-controller/stores/provisioner-sessions.ts";
import { VolumeCache } from "../csi-controller/volume-cache.ts";
import { credentialsAt } from "../kube/client/api-location.ts";
import { KubeClient } from "../kube/client/client.ts";
import { EventRecorder } from "../kube/events.ts";
import { ProgramMetrics } from "../metrics/program-metrics.ts";
import { apiRequests, csiCalls, storeRequests } from "../metrics/requests.ts";
import type { Call } from "../runtime/call.ts";
import type { Logger } from "../runtime/log.ts";
import { orAborted } from "../runtime/or-aborted.ts";
import { runProgram, stderrLogger } from "../runtime/program.ts";
import { Progress } from "../runtime/progress.ts";
import { bootTimeMs } from "../runtime/suspend-clock.ts";
import type { StoreSettings } from "../s3/object-store.ts";
import { StsClient } from "../s3/sts/sts-client.ts";
import { trusted } from "../s3/trust.ts";
import { scrapedFrom } from "./scraped.ts";
import { version } from "./version.ts";

/** Of requests to stores. */
const userAgent = `s3-csi-driver/${version}`;

async function run(call: Call, config: CsiControllerConfig): Promise<void> {
  logStart(call.log, config);
  const progress = new Progress();
  using metrics = new ProgramMetrics({ component: "s3-csi-controller", version, progress, served: config.metrics });
  const { registry } = metrics;
  const ofClient = { userAgent: `s3-csi-controller/${version}`, onAnswered: apiRequests(registry) };
  using client = new KubeClient(credentialsAt(config.api), ofClient);
  using access = accessToStores(config, client, storeRequests(registry));
  const volumes = new VolumeCache(config.stores, client);
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
  const shared = { openBuckets: access.openBuckets, volumes, clusterId: clusterIdFrom(client) };
  const orphanSearch = {
    ...shared,
    pendingClaims: (each: Call) => pendingClaimUids(each, client),
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
    searchOrphans(background, orphanSearch, { stores: searchedStores(config), times: config.orphans }),
    protection?.run(background),
  ]);
  running.defer(async () => {
    backgroundEnd.abort(call.signal.reason);
    await backgroundWork;
  });
  const service = controllerService({
    ...shared,
    installation: config,
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

function logStart(
  log: Logger,
  { api: _api, driverCredentials: { from }, stores, ...shown }: CsiControllerConfig,
): void {
  const addresses = Array.from(stores.values(), ({ name, endpointUrl }) => `${name}: ${endpointUrl}`);
  log.info("CSI controller service starts", { version, ...shown, stores: addresses, driverCredentials: from });
}

/** Where the driver has no credentials of its own, it cannot see which buckets there are. */
function searchedStores({ stores }: CsiControllerConfig) {
  return [...stores.values()].filter(isDriverKnownAt).map(({ name }: Store) => name);
}

function accessToStores(
  config: CsiControllerConfig,
  client: KubeClient,
  onAnswered?: StoreSettings["onAnswered"],
): { readonly openBuckets: OpenBuckets } & Disposable {
  const { stores, storeLimits: limits, proxy, tokenDir, driverCredentials: ofDefault, secretNamespace } = config;
  const { caBundle, systemRoots } = config;
  using undo = new DisposableStack();
  const sts = undo.use(new StsClient({ proxy, userAgent, trusted: trusted(caBundle, systemRoots) }));
  const sessions = new ProvisionerSessions({ sts, tokenDir, nowMs: bootTimeMs });
  const parts = { caBundle, systemRoots, proxy, limits, userAgent, ...(onAnswered && { onAnswered }) };
  const objectStores = undo.use(new ObjectStores(stores, parts));
  const credentials = driverCredentials({ client, ofDefault, namespace: secretNamespace, sessions });
  const openBuckets = bucketsOf({ stores, objectStores, driverCredentials: credentials });
  const ended = undo.move();
  return { openBuckets, [Symbol.dispose]: () => ended.dispose() };
}

/** The last line on stdout is the result. */
async function runStoreCheck(call: Call, config: CsiControllerConfig): Promise<void> {
  using client = new KubeClient(credentialsAt(config.api), { userAgent });
  using access = accessToStores(config, client);
  const result = await checkStores(call, config.stores, access.openBuckets);
  process.stdout.write(`${JSON.stringify({ checkStore: result })}\n`);
}

await runProgram("CSI controller service", (signal) => {
  const config = csiControllerConfigFrom(process.argv.slice(2), process.env);
  const call = { signal, log: stderrLogger(config.verbosity) };
  return config.checkStore ? runStoreCheck(call, config) : run(call, config);
});
