/** The node plugin: serves kubelet, heals dead mounts and unmounts sources without users. */

import { basename, extname, join } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { defaultStore } from "../core/stores/store.ts";
import { parseEndpoint } from "../csi/endpoint.ts";
import { serveHealth } from "../csi/health.ts";
import { identityService } from "../csi/identity.ts";
import { serveRegistration } from "../csi/registration.ts";
import { serve } from "../csi/server.ts";
import { credentialsAt } from "../kube/client/api-location.ts";
import { KubeClient } from "../kube/client/client.ts";
import { EventRecorder } from "../kube/events.ts";
import { fuseDevice } from "../linux/device-id.ts";
import { hasMoveMountBeneath } from "../linux/mounts/mount-tree.ts";
import { pageOutFiles } from "../linux/process/page-out.ts";
import { ProgramMetrics } from "../metrics/program-metrics.ts";
import { apiRequests, csiCalls } from "../metrics/requests.ts";
import { Cluster } from "../node/cluster/cluster.ts";
import type { MountpointPods } from "../node/cluster/mountpoint-pods.ts";
import { reportStatus } from "../node/cluster/report-status.ts";
import { removeStartupTaint } from "../node/cluster/startup-taint.ts";
import { type NodeConfig, nodeConfigFrom } from "../node/config.ts";
import { DriverCredentialsOfStores } from "../node/credentials/driver-credentials-of-stores.ts";
import { keepDriverCredentials } from "../node/credentials/keep-driver-credentials.ts";
import { memoryDir } from "../node/domain/target-path.ts";
import { endWatchdog } from "../node/end/start-end-watchdog.ts";
import { exportsFigures } from "../node/figures/export.ts";
import { FigureReceivers } from "../node/figures/figure-receivers.ts";
import { followFigures, networksOn } from "../node/figures/follow-figures.ts";
import { reportRefusedUploads } from "../node/figures/refused-uploads.ts";
import { metricsOfVolumes } from "../node/figures/volume-metrics.ts";
import { healEvents } from "../node/heal/events.ts";
import { healDeadMounts } from "../node/heal/heal.ts";
import type { HealRoom } from "../node/heal/heal-room.ts";
import { v1FilesIn } from "../node/legacy/v1-files.ts";
import { removeUnusedV1Files } from "../node/legacy/v1-mounts.ts";
import { NodeMetrics } from "../node/metrics.ts";
import { commVolumes } from "../node/mounts/comm-volume.ts";
import { thisKernel } from "../node/mounts/kernel.ts";
import { type NodeMounts, nodeMounts } from "../node/mounts/node-mounts.ts";
import { detachVanishedSubPaths } from "../node/mounts/vanished-sub-paths.ts";
import { moveEvents } from "../node/move/events.ts";
import { moveWorkloads } from "../node/move/move.ts";
import { type MoveRoom, replacementFor } from "../node/move/move-room.ts";
import { mountAhead } from "../node/publish/mount-ahead.ts";
import { removeOrphanedTargets } from "../node/publish/orphaned-targets.ts";
import { publishRoom } from "../node/publish/publish-room.ts";
import type { RecordStorage } from "../node/records/mount-records.ts";
import { nodeRecords } from "../node/records/node-records.ts";
import { tmpfsStorage } from "../node/records/tmpfs-storage.ts";
import { nodeService } from "../node/service.ts";
import { renewPodCredentials } from "../node/sessions/keep-pod-credentials.ts";
import type { PodSessions } from "../node/sessions/pod-sessions.ts";
import { sessionsOfNode } from "../node/sessions/sessions-of-node.ts";
import { probeSources } from "../node/source/probe-loop.ts";
import { sourceRoom } from "../node/source/source-room.ts";
import { unmountUnneeded } from "../node/source/unmount-loop.ts";
import { HostSwapper } from "../node/swap/swap.ts";
import { versionReport } from "../node/version-report.ts";
import type { Call } from "../runtime/call.ts";
import type { Logger } from "../runtime/log.ts";
import { orAborted } from "../runtime/or-aborted.ts";
import { runProgram, stderrLogger } from "../runtime/program.ts";
import { Progress } from "../runtime/progress.ts";
import { scrapedFrom } from "./scraped.ts";
import { version } from "./version.ts";

async function run(call: Call, config: NodeConfig): Promise<void> {
  logStart(call.log, config);
  const progress = new Progress();
  using programMetrics = new ProgramMetrics({ component: "s3-plugin", version, progress, served: config.metrics });
  const { registry } = programMetrics;
  const ofClient = { userAgent: `s3-csi-node/${version}`, onAnswered: apiRequests(registry) };
  // Client and watchdog outlive the rest: the watchdog is started last, for the Mountpoint Pods that are known then.
  using client = new KubeClient(credentialsAt(config.api), ofClient);
  const cluster = new Cluster(config, client);
  const { attachments, mountpointPods } = cluster;
  using _end = endWatchdog(call.log, watchdogProgram, { config, mountpointPods: () => mountpointPods.store.values() });
  await using events = new EventRecorder(client, { component: "s3-csi-node", host: config.nodeName });
  using storage = tmpfsStorage(call.log, memoryDir(config.kubeletDir));
  const metrics = new NodeMetrics(registry);
  using sessions = sessionsOfNode(config, { client, storage, driverVersion: version });
  using rooms = roomsOf(config, { cluster, storage, metrics, sessions });
  const { mounts, credentials, v1, sources, publishing, figures } = rooms;
  const ofFigures = figures && figuresOn(config, { programMetrics, mountpointPods, rooms, receivers: figures });
  using _driverCredentials = keepDriverCredentials(call.log, credentials, mountpointPods);
  logUncheckedNode(call.log, mounts);

  await using parts = new AsyncDisposableStack();
  // CSI calls that are still running need the background loops, which therefore end last.
  const backgroundEnd = new AbortController();
  const background = { signal: backgroundEnd.signal, log: call.log };
  const registered = Promise.withResolvers<void>();
  using _ahead = mountAhead(background, publishing, client);
  const loops = Promise.all([
    cluster.follow(background, progress),
    credentials.drivers.follow(background, client, progress),
    renewPodCredentials(background, { sessions, credentials, mountpointPods, records: rooms.records.mounts, events }),
    unmountUnneeded(background, sources),
    probeSources(background, sources, progress),
    replaceMounts(background, rooms, { mountpointPods, events }),
    reportStatus(background, client, { attachments, sources: sources.registry }),
    removeUnusedV1Files(background, v1, mounts),
    detachVanishedSubPaths(background, { mounts, attachments }, progress),
    removeOrphanedTargets(background, publishing, progress),
    ofFigures && followFigures(background, ofFigures, progress),
    ofFigures && reportRefusedUploads(background, { ...ofFigures, records: rooms.records.mounts, events }, progress),
    removeStartupTaint(background, client, config.nodeName, registered.promise),
  ]);
  const ended = loops.catch(() => undefined); // other failures are thrown below
  parts.defer(async () => {
    backgroundEnd.abort(call.signal.reason);
    await ended;
  });
  const identity = identityService({ version, readiness: cluster.readiness, servesController: false });
  const services = [identity, nodeService(publishing)];
  parts.use(await serve(call, config.endpoint, services, { onAnswered: csiCalls(registry) }));
  using _progress = followQueues(progress, cluster, { sources, sessions });
  const scraped = scrapedFrom(programMetrics, client, config);
  const health = { readiness: cluster.readiness, liveness: progress.liveness, metrics: scraped };
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

interface Queues {
  readonly sources: { readonly unmounts: { readonly stalledMs: number } };
  readonly sessions: Pick<PodSessions, "stalledMs">;
}

function followQueues(progress: Progress, { readiness }: Cluster, { sources, sessions }: Queues): Disposable {
  const stack = new DisposableStack();
  // Before the caches are synced no worker reads the queue, and a restart would not change that.
  stack.use(progress.follow("unmounting", () => (readiness().ready ? sources.unmounts.stalledMs : 0)));
  stack.use(progress.follow("renewing credentials of service accounts", () => sessions.stalledMs));
  return stack;
}

function logStart(log: Logger, { api: _api, driverCredentials, stores, ...shown }: NodeConfig): void {
  const addresses = Array.from(stores.values(), ({ name, endpointUrl }) => `${name}: ${endpointUrl}`);
  log.info("node plugin starts", { version, ...shown, stores: addresses, driverCredentials: driverCredentials.from });
}

/** Builds every room with the rooms that it needs. */
function roomsOf(config: NodeConfig, { cluster, storage, metrics, sessions }: Surroundings) {
  const { kubeletDir, hostProc, hangLimitMs } = config;
  const kernel = thisKernel({ inHostPids: config.pidNamespaces.inHostPids, hostProc });
  const mounts = nodeMounts(kubeletDir, kernel);
  const drivers = new DriverCredentialsOfStores(config.stores, config.driverCredentials);
  const records = nodeRecords(storage);
  const { stores } = config;
  const credentials = { drivers, sessions, comm: commVolumes(kubeletDir, kernel), stores, records: records.mounts };
  const { attachments } = cluster;
  const v1 = { attachments, driverCredentials: drivers.of(defaultStore), files: v1FilesIn(kubeletDir) };
  const figures = receivesFigures(config) ? new FigureReceivers() : undefined;
  const shared = { mounts, cluster, credentials, records: records.mounts, metrics };
  const sources = sourceRoom({ ...shared, stores, exportsFigures: figures !== undefined, hangLimitMs });
  metrics.measureSources(sources.registry);
  // Manifests of 2.x do not mount the host's /proc.
  const swapper = hostProc === "/proc" ? undefined : new HostSwapper(hostProc, kubeletDir);
  const healing: HealRoom = { mounts, cluster, sources, records, metrics, swapper };
  const moving: MoveRoom = { ...healing, replacement: replacementFor(hasMoveMountBeneath(), config) };
  const settings = { ...config, driverVersion: version, entersContainers: swapper !== undefined };
  const publishing = publishRoom({ ...shared, settings, sources, v1 });
  const end = () => {
    figures?.[Symbol.dispose]();
    sources[Symbol.dispose]();
  };
  return { mounts, credentials, v1, records, sources, publishing, healing, moving, figures, [Symbol.dispose]: end };
}

type Rooms = Pick<ReturnType<typeof roomsOf>, "records" | "healing" | "moving">;

/** Dead mounts, and those of Mountpoint Pods that their workloads leave. Runs until the call ends. */
async function replaceMounts(
  call: Call,
  { records, healing, moving }: Rooms,
  { mountpointPods, events }: { readonly mountpointPods: MountpointPods; readonly events: EventRecorder },
): Promise<void> {
  await Promise.all([
    healDeadMounts(call, healing, healEvents({ records: records.mounts, mountpointPods }, events)),
    moveWorkloads(call, moving, moveEvents(records.mounts, events)),
  ]);
}

/** DS-13. Under manifests of 2.x, which do not mount the host's /proc. */
function logUncheckedNode(log: Logger, { kernel }: NodeMounts): void {
  if (kernel.isOnNode("/", fuseDevice(0)) !== undefined) return;
  const because = "the host's /proc is not mounted, or does not show the container runtime";
  log.info("mounts are checked in this container only, not on the node", { because });
}

/** Publishes the figures of mount-s3, and returns where they come from. */
function figuresOn(
  { nodeName, hostProc }: NodeConfig,
  { programMetrics, mountpointPods, rooms, receivers }: FigureParts,
): Parameters<typeof followFigures>[1] {
  const { mounts, credentials } = rooms;
  programMetrics.append(() => metricsOfVolumes({ node: nodeName, mountpointPods, comm: credentials.comm, receivers }));
  return { receivers, networks: networksOn(hostProc), mounts, mountpointPods };
}

interface FigureParts {
  readonly programMetrics: ProgramMetrics;
  readonly mountpointPods: MountpointPods;
  readonly rooms: Pick<ReturnType<typeof roomsOf>, "mounts" | "credentials">;
  readonly receivers: FigureReceivers;
}

/** Without the host's /proc the network of a Mountpoint Pod cannot be entered. */
function receivesFigures({ volumeMetrics: isAsked, hostProc, mountpointVersion }: NodeConfig): boolean {
  return isAsked && hostProc !== "/proc" && exportsFigures(mountpointVersion);
}

/** What the rooms share, and what outlives them. */
interface Surroundings {
  readonly cluster: Cluster;
  readonly storage: RecordStorage;
  readonly metrics: NodeMetrics;
  readonly sessions: PodSessions;
}

/** In the directory of this program, in the image and in a checkout. */
const watchdogProgram = fileURLToPath(new URL(`end-watchdog${extname(import.meta.url)}`, import.meta.url));

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
