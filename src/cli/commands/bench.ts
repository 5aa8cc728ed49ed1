/** `kubectl s3 bench VOLUME`: how fast a volume is for a Pod that uses it. */
import { randomBytes } from "node:crypto";
import { type Measurement, smallFileBytes } from "../../core/volume-bench.ts";
import { buildTopology } from "../../topology/build-topology.ts";
import type { Workload } from "../../topology/objects.ts";
import { paths } from "../../topology/paths.ts";
import type { VolumeView } from "../../topology/topology.ts";
import { benchClaim } from "../bench/bench-claim.ts";
import { benchMountPath, benchPod } from "../bench/bench-pod.ts";
import { type BenchOptions, benchIdentity, benchSizes, readsOnly } from "../bench/bench-request.ts";
import { type BenchRun, filesLeftText, runBenchPod } from "../bench/run-bench-pod.ts";
import { readable, readCluster } from "../cluster/read-cluster.ts";
import { formatted } from "../output/format.ts";
import { type Column, printable, table } from "../output/table.ts";
import type { Session } from "../program.ts";
import { volumesNamed } from "../select.ts";
import { UserError } from "../user-error.ts";

export async function benchCommand(session: Session, name: string, options: BenchOptions): Promise<void> {
  const { signal, api, options: scope, terminal } = session;
  const sizes = benchSizes(options);
  const cluster = await terminal.progress("reading the cluster", readCluster(signal, api, scope));
  const view = onlyVolume(volumesNamed(buildTopology(cluster), name), name);
  const claim = benchClaim(view, cluster.claims);
  const volume = cluster.volumes.find(({ metadata }) => metadata.name === view.name);
  const hindrance = readsOnly(volume);
  if (hindrance !== undefined)
    terminal.printError(`only reads are measured: ${hindrance.because}\n→ ${hindrance.fix}\n`);
  const id = randomBytes(4).toString("hex");
  const directory = `kubectl-s3-bench-${id}`;
  const pod = benchPod({
    name: `s3-csi-bench-${id}`,
    namespace: claim.namespace,
    claim: claim.name,
    image: options.image ?? (await imageOfDriver(session)),
    identity: benchIdentity(options, volume),
    plan: { ...sizes, mountPath: benchMountPath, ...(hindrance === undefined && { directory }) },
    node: options.node,
    nodesInUse: [...new Set(view.attachments.map(({ node }) => node))],
  });
  const run = await runBenchPod(signal, api, pod, (what) => terminal.printError(`${printable(what)}\n`));
  const data = { volume: view.name, claim, node: run.node, ...sizes, smallFileBytes, ...run.result };
  terminal.print(formatted(scope.output, data, () => benchText(view, run)));
  const { filesLeft } = run.result;
  if (filesLeft.count > 0) terminal.printError(`${printable(filesLeftText(filesLeft))}\n`);
}

function onlyVolume(volumes: readonly VolumeView[], name: string): VolumeView {
  const [volume, ...others] = volumes;
  if (volume !== undefined && others.length === 0) return volume;
  const names = volumes.map((each) => each.name);
  throw new UserError(`"${name}" means ${names.length} volumes`, `name one of: ${names.join(", ")}`);
}

async function imageOfDriver({ signal, api, options: { driverNamespace } }: Session): Promise<string> {
  const query = { fieldSelector: "metadata.name=s3-csi-node" };
  const unreadable: string[] = [];
  const list = api.list<Workload>(signal, paths.daemonSets(driverNamespace), { query });
  const [plugin] = await readable(unreadable)("DaemonSets", list);
  const image = plugin?.spec.template.spec.containers[0]?.image;
  if (image !== undefined) return image;
  throw new UserError(
    `the image of the driver is not known: ${unreadable[0] ?? "there is no DaemonSet s3-csi-node"}`,
    "name it with --image; an administrator finds it with: kubectl get ds -A -o wide",
  );
}

function benchText({ name, claim }: VolumeView, { node, result }: BenchRun): string {
  const title = `Volume ${name}, claim ${claim?.namespace}/${claim?.name}, node ${node}. Small files have ${smallFileBytes / 1024} KiB.\n`;
  if (result.measurements.length === 0) return `${title}There is nothing to read in the volume.\n`;
  return `${title}${table(columns, result.measurements)}`;
}

const columns: readonly Column<Measurement>[] = [
  { title: "MEASURED", value: ({ name }) => name },
  { title: "OPERATIONS", value: ({ operations }) => String(operations) },
  { title: "TIME", value: ({ seconds }) => `${seconds.toFixed(2)} s` },
  { title: "RATE", value: ({ operations, seconds }) => `${(operations / seconds).toFixed(0)}/s` },
  {
    title: "THROUGHPUT",
    value: ({ bytes, seconds }) => (bytes === 0 ? "" : `${(bytes / 2 ** 20 / seconds).toFixed(1)} MiB/s`),
  },
  { title: "P50", value: ({ latencyMs }) => `${latencyMs.p50.toFixed(1)} ms` },
  { title: "P95", value: ({ latencyMs }) => `${latencyMs.p95.toFixed(1)} ms` },
  { title: "MAX", value: ({ latencyMs }) => `${latencyMs.max.toFixed(1)} ms` },
];
