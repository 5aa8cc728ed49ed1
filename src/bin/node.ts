/** The node plugin: serves kubelet, heals dead mounts and unmounts sources without users. */
import { basename, extname, join } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { InFlight } from "../core/in-flight.ts";
import type { PodName } from "../core/names.ts";
import { parseEndpoint } from "../csi/endpoint.ts";
import { serveHealth } from "../csi/health.ts";
import { identityService } from "../csi/identity.ts";
import { serveRegistration } from "../csi/registration.ts";
import { serve } from "../csi/server.ts";
import { credentialsAt } from "../kube/client/api-location.ts";
import { KubeClient } from "../kube/client/client.ts";
import { WorkQueue } from "../kube/controller/work-queue.ts";
import { orAborted } from "../kube/or-aborted.ts";
import { pageOutFiles } from "../linux/process/page-out.ts";
import { Cluster } from "../node/cluster/cluster.ts";
import { mountS3Log } from "../node/cluster/mount-s3-log.ts";
import { reportStatus } from "../node/cluster/report-status.ts";
import { removeStartupTaint } from "../node/cluster/startup-taint.ts";
import { type NodeConfig, nodeConfigFrom } from "../node/config.ts";
import { keepDriverKeys } from "../node/credentials/keep-driver-keys.ts";
import { memoryDir } from "../node/domain/target-path.ts";
import { endWatchdog } from "../node/end/start-end-watchdog.ts";
import { healEvents } from "../node/heal/events.ts";
import { healDeadMounts } from "../node/heal/heal.ts";
import { HostSwapper } from "../node/heal/swap.ts";
import { v1FilesIn } from "../node/legacy/v1-files.ts";
import { removeUnusedV1Files } from "../node/legacy/v1-mounts.ts";
import { NodeMetrics } from "../node/metrics.ts";
import { commVolumes } from "../node/mounts/comm-volume.ts";
import { thisKernel } from "../node/mounts/kernel.ts";
import { MountTable } from "../node/mounts/mount-table.ts";
import { detachVanishedSubPaths } from "../node/mounts/vanished-sub-paths.ts";
import type { NodeParts } from "../node/node-parts.ts";
import { MountRecords, type RecordStorage } from "../node/records/mount-records.ts";
import { PendingHeals } from "../node/records/pending-heals.ts";
import { tmpfsStorage } from "../node/records/tmpfs-storage.ts";
import { nodeService } from "../node/service.ts";
import { probeSources } from "../node/source/probe-loop.ts";
import { SourceRegistry } from "../node/source/source-registry.ts";
import { unmountUnneeded } from "../node/source/unmount-loop.ts";
import { versionReport } from "../node/version-report.ts";
import type { Call } from "../runtime/call.ts";
import type { Logger } from "../runtime/log.ts";
import { runProgram, stderrLogger } from "../runtime/program.ts";
import { Progress } from "../runtime/progress.ts";
import { version } from "./version.ts";

async function run(call: Call, config: NodeConfig): Promise<void> {
  const { api, driverCredentials, ...shown } = config;
  call.log.info("node plugin starts", { version, ...shown, driverCredentials: driverCredentials.from });
  const cluster = new Cluster(config);
  // Declared first, so that it is disposed last.
  const mountpointPods = () => cluster.mountpointPods.store.values();
  using _end = endWatchdog(call.log, watchdogProgram, { config, mountpointPods });
  using client = new KubeClient(credentialsAt(api), { userAgent: `s3-csi-node/${version}` });
  using unmounts = new WorkQueue<PodName>();
  using storage = tmpfsStorage(call.log, memoryDir(config.kubeletDir));
  const node = nodeParts(config, { cluster, client }, unmounts, storage);
  using _driverKeys = keepDriverKeys(call.log, node);
  if (node.kernel.isOnNode("/", 0) === undefined) {
    const because = "the host's /proc is not mounted, or does not show the container runtime";
    call.log.info("mounts are checked in this container only, not on the node", { because });
  }

  await using parts = new AsyncDisposableStack();
  // CSI calls that are still running need the background loops, which therefore end last.
  const backgroundEnd = new AbortController();
  const background = { signal: backgroundEnd.signal, log: call.log };
  const registered = Promise.withResolvers<void>();
  const progress = new Progress();
  const loops = Promise.all([
    cluster.follow(background, client, progress),
    unmountUnneeded(background, node),
    probeSources(background, node, progress),
    healDeadMounts(background, node, healEvents(node, client, config.nodeName)),
    reportStatus(background, client, node),
    removeUnusedV1Files(background, node),
    detachVanishedSubPaths(background, node, progress),
    removeStartupTaint(background, client, config.nodeName, registered.promise),
  ]);
  const ended = loops.catch(() => undefined); // other failures are thrown below
  parts.defer(async () => {
    backgroundEnd.abort(call.signal.reason);
    await ended;
  });
  const identity = identityService({ version, readiness: cluster.readiness, servesController: false });
  parts.use(await serve(call, config.endpoint, [identity, nodeService(node)]));
  // Before the caches are synced no worker reads the queue, and a restart would not change that.
  using _progress = progress.follow("unmounting", () => (cluster.readiness().ready ? unmounts.stalledMs : 0));
  const metrics = config.metrics ? node.metrics.text : undefined;
  const health = { readiness: cluster.readiness, liveness: progress.liveness, metrics };
  if (config.healthPort !== undefined) parts.use(await serveHealth(call, config.healthPort, health));
  if (config.registryDir === undefined) {
    registered.resolve(); // a sidecar registers the driver and does not report it
  } else {
    const registration = { registryDir: config.registryDir, csiSocket: socketOnHost(config) };
    parts.use(await serveRegistration(call, { ...registration, onRegistered: registered.resolve }));
  }
  using _startUp = pageOutAfterStart(call.log);
  await orAborted(call, loops);
}

/** In the directory of this program, in the image and in a checkout. */
const watchdogProgram = fileURLToPath(new URL(`end-watchdog${extname(import.meta.url)}`, import.meta.url));

function nodeParts(
  config: NodeConfig,
  { cluster, client }: { readonly cluster: Cluster; readonly client: KubeClient },
  unmounts: WorkQueue<PodName>,
  storage: RecordStorage,
): NodeParts {
  const { kubeletDir, hostProc } = config;
  const kernel = thisKernel({ inHostPids: config.pidNamespaces.inHostPids, hostProc });
  return {
    config,
    driverVersion: version,
    kernel,
    mounts: () => new MountTable(kernel.mounts(), kubeletDir),
    comm: commVolumes(kubeletDir, kernel),
    v1Files: v1FilesIn(kubeletDir),
    sources: new SourceRegistry(),
    metrics: new NodeMetrics(),
    inFlight: new InFlight(),
    records: new MountRecords(storage),
    pendingHeals: new PendingHeals(storage),
    // Manifests of 2.x do not mount the host's /proc.
    swapper: hostProc === "/proc" ? undefined : new HostSwapper(hostProc, kubeletDir),
    unmounts,
    attachments: cluster.attachments,
    mountpointPods: cluster.mountpointPods,
    mountS3Log: mountS3Log(client, config.mountpointNamespace),
    driverKeys: cluster.driverKeys,
    kubernetesVersion: cluster.kubernetesVersion,
  };
}

/** After this time the node plugin is registered, watches and was probed: code that has not run again is not needed in memory. */
const startTakesMs = 20_000;

function pageOutAfterStart(log: Logger): Disposable {
  const timer = setTimeout(() => {
    try {
      log.info("start-up code is paged out", { mappedBytes: pageOutFiles() });
    } catch (error) {
      log.info("code of the start stays in memory", { error }); // the process only uses more memory
    }
  }, startTakesMs);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

/** The path of the CSI socket on the host, which differs from the path in the container. */
function socketOnHost({ endpoint, hostPluginDir }: NodeConfig): string {
  const at = parseEndpoint(endpoint);
  if (at.kind !== "unix") throw new Error(`kubelet finds drivers on unix sockets only: ${endpoint}`);
  return join(hostPluginDir, basename(at.path));
}

await runProgram("node plugin", async (signal) => {
  const args = process.argv.slice(2);
  if (args.includes("--version")) {
    process.stdout.write(versionReport(version));
    return;
  }
  const config = nodeConfigFrom(args, process.env);
  await run({ signal, log: stderrLogger(config.verbosity) }, config);
});
