/** The CSI controller service: makes and deletes the buckets of dynamic volumes for the csi-provisioner sidecar. */
import { randomUUID } from "node:crypto";
import { InFlight } from "../core/in-flight.ts";
import { serveHealth } from "../csi/health.ts";
import { identityService } from "../csi/identity.ts";
import { serve } from "../csi/server.ts";
import { clusterIdFrom } from "../csi-controller/cluster-id.ts";
import { type CsiControllerConfig, csiControllerConfigFrom } from "../csi-controller/config.ts";
import { claimUids, KnownVolumes, secretsNeededNow } from "../csi-controller/known-volumes.ts";
import { CsiControllerMetrics } from "../csi-controller/metrics.ts";
import { besideLeader, orphanReports } from "../csi-controller/orphans/orphan-reports.ts";
import { lookForOrphans } from "../csi-controller/orphans/orphans.ts";
import { reports } from "../csi-controller/reports.ts";
import { accessFor } from "../csi-controller/secrets/access.ts";
import { ClassesWithSecrets } from "../csi-controller/secrets/classes-with-secrets.ts";
import { checkFallback } from "../csi-controller/secrets/fallback.ts";
import { keepSecretOf } from "../csi-controller/secrets/keep-secret.ts";
import { SecretProtection } from "../csi-controller/secrets/secret-protection.ts";
import { SecretRecords } from "../csi-controller/secrets/secret-records.ts";
import { controllerService } from "../csi-controller/service.ts";
import { credentialsAt } from "../kube/client/api-location.ts";
import { KubeClient } from "../kube/client/client.ts";
import { EventRecorder } from "../kube/events.ts";
import { orAborted } from "../kube/or-aborted.ts";
import type { Call } from "../runtime/call.ts";
import { runProgram, stderrLogger } from "../runtime/program.ts";
import { Progress } from "../runtime/progress.ts";
import { ObjectStore } from "../s3/object-store.ts";
import { trusted } from "../s3/trust.ts";
import { version } from "./version.ts";

async function run(call: Call, config: CsiControllerConfig): Promise<void> {
  const { api, driverCredentials, ...shown } = config;
  call.log.info("CSI controller service starts", { version, ...shown, driverCredentials: driverCredentials.from });
  using client = new KubeClient(credentialsAt(api), { userAgent: `s3-csi-controller/${version}` });
  const { s3, proxy, caBundle, systemRoots } = config;
  const settings = { ...s3, proxy, trusted: trusted(caBundle, systemRoots) };
  using store = new ObjectStore({ ...settings, userAgent: `s3-csi-driver/${version}` });
  const volumes = new KnownVolumes();
  const classes = new ClassesWithSecrets();
  const events = new EventRecorder(client, { component: "s3-csi-controller" });
  const fallback = { client, classes, events, allowed: config.fallbackToDriverCredentials };
  const protection =
    config.protectedSecrets &&
    new SecretProtection({
      records: new SecretRecords(client, config.protectedSecrets),
      volumes,
      neededNow: (each) => secretsNeededNow(each, client),
      self: randomUUID(),
    });
  const progress = new Progress();
  const metrics = new CsiControllerMetrics();
  const shared = { access: accessFor(client, config), store, volumes, clusterId: clusterIdFrom(client) };
  const looking = {
    ...shared,
    claims: (each: Call) => claimUids(each, client),
    isOurTurn: besideLeader(client, config.pod),
    report: orphanReports(events, config.pod),
  };

  await using parts = new AsyncDisposableStack();
  // Calls that are being finished still need the background loops, so these end last.
  const stopBackground = new AbortController();
  const background = { signal: stopBackground.signal, log: call.log };
  const following = Promise.all([
    volumes.follow(background, client, progress.pulse("watch over volumes")),
    classes.follow(background, client, progress.pulse("watch over classes")),
    lookForOrphans(background, looking, config.orphans),
    protection?.follow(background),
  ]);
  parts.defer(async () => {
    stopBackground.abort(call.signal.reason);
    await following;
  });
  const service = controllerService({
    ...shared,
    inFlight: new InFlight(),
    reports: reports(events, metrics),
    checkFallback: (each, volume) => checkFallback(each, fallback, volume),
    keepSecret: keepSecretOf({ client, classes, protection }),
    noVolumeMade: (id) => protection?.noVolumeMade(id),
  });
  let synced = false;
  const readiness = () =>
    synced ? ({ ready: true } as const) : ({ ready: false, because: "the caches are not synced yet" } as const);
  const identity = identityService({ version, readiness, servesController: true });
  parts.use(await serve(call, config.endpoint, [identity, service]));
  const health = { readiness, liveness: progress.liveness, metrics: config.metrics ? metrics.text : undefined };
  if (config.healthPort !== undefined) parts.use(await serveHealth(call, config.healthPort, health));
  await Promise.all([volumes.synced(call), classes.synced(call)]);
  synced = true;
  await orAborted(call, following);
}

await runProgram("CSI controller service", (signal) => {
  const config = csiControllerConfigFrom(process.argv.slice(2), process.env);
  return run({ signal, log: stderrLogger(config.verbosity) }, config);
});
