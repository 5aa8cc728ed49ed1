/** `kubectl s3 logs NAME`: what every party of a mount has logged, merged by time. */
import { mountpointContainer } from "../../core/names.ts";
import { buildTopology } from "../../topology/build-topology.ts";
import type { Pod } from "../../topology/objects.ts";
import { paths } from "../../topology/paths.ts";
import type { MountpointPodView, VolumeView } from "../../topology/topology.ts";
import type { ApiServer } from "../api/api-server.ts";
import { isForbidden, isNotFound } from "../api/request-errors.ts";
import { readCluster } from "../cluster/read-cluster.ts";
import { secondsOf } from "../duration.ts";
import { printable } from "../output/table.ts";
import type { Session } from "../program.ts";
import { volumesNamed } from "../select.ts";
import { linesOfMount, linesOfVolumes, mountNamed } from "./log-filter.ts";

export interface Party {
  /** Before each line, such as `node worker-1`. */
  readonly title: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Every line of a Mountpoint Pod is about its volume; the lines of the other parties are about many. */
  readonly isOwn: boolean;
}

export interface LogLine {
  /** RFC 3339 with nanoseconds, in UTC: sorts by time. */
  readonly at: string;
  readonly party: string;
  readonly text: string;
}

export async function logsCommand(
  { signal, api, options, terminal }: Session,
  name: string,
  { since, all }: { readonly since: string; readonly all: boolean },
): Promise<void> {
  const seconds = secondsOf(since, "--since");
  const cluster = await terminal.progress("reading the cluster", readCluster(signal, api, options));
  const volumes = volumesNamed(buildTopology(cluster), name);
  const mount = mountNamed(volumes, name);
  const drivers = await driverPods(signal, api, cluster.namespaces.driver);
  const parties = partiesOf(volumes, drivers).filter((party) => takesPart(party, mount?.pod));
  const reads = parties.map((party) => readLog(signal, api, party, seconds));
  const logs = await terminal.progress("reading logs", Promise.all(reads));
  const ofName = mount === undefined ? linesOfVolumes(volumes) : linesOfMount(mount.volume, mount.pod);
  const wanted = all ? () => true : ofName;
  for (const { at, party, text } of mergedLines(logs, wanted)) terminal.print(`${at} [${party}] ${printable(text)}\n`);
  for (const { missing } of logs) if (missing !== undefined) terminal.printError(`not shown: ${missing}\n`);
}

/** Controller Pods and node plugins. */
export async function driverPods(signal: AbortSignal, api: ApiServer, namespace: string): Promise<readonly Pod[]> {
  const query = { labelSelector: "app in (s3-csi-controller,s3-csi-node)" };
  return await api.list<Pod>(signal, paths.pods(namespace), { query });
}

/** Other Mountpoint Pods of the volume have nothing to say about one mount. */
function takesPart({ isOwn, pod }: Party, mount: MountpointPodView | undefined): boolean {
  return mount === undefined || !isOwn || pod === mount.name;
}

/** Pure: who takes part in these volumes. */
export function partiesOf(volumes: readonly VolumeView[], drivers: readonly Pod[]): readonly Party[] {
  const nodes = new Set(volumes.flatMap(({ attachments }) => attachments.map(({ node }) => node)));
  const pods = volumes.flatMap(({ attachments }) => attachments.flatMap(({ mountpointPods }) => mountpointPods));
  const ofDriver = drivers.flatMap(({ metadata, spec }) => {
    const isController = metadata.labels?.["app"] === "s3-csi-controller";
    if (!isController && !nodes.has(spec.nodeName ?? "")) return [];
    return spec.containers.map(({ name }) => ({
      title: isController ? name : `${name} ${spec.nodeName ?? ""}`,
      namespace: metadata.namespace ?? "",
      pod: metadata.name,
      container: name,
      isOwn: false,
    }));
  });
  const ofVolumes = pods
    .filter(({ phase }) => phase !== "Missing")
    .map(({ name, namespace, node }) => ({
      title: `mount-s3 ${node}`,
      namespace,
      pod: name,
      container: mountpointContainer,
      isOwn: true,
    }));
  return [...ofDriver, ...ofVolumes];
}

interface Log {
  readonly party: Party;
  readonly text: string;
  readonly missing?: string;
}

/** A busy node plugin writes megabytes an hour. */
const limitBytes = 10 * 1024 * 1024;

export async function readLog(signal: AbortSignal, api: ApiServer, party: Party, sinceSeconds: number): Promise<Log> {
  const { namespace, pod, container } = party;
  const query = new URLSearchParams({
    ...{ container, timestamps: "true" },
    ...{ sinceSeconds: String(sinceSeconds), limitBytes: String(limitBytes) },
  });
  const path = `${paths.pods(namespace)}/${encodeURIComponent(pod)}/log?${query.toString()}`;
  try {
    return { party, text: await api.text(signal, { path }) };
  } catch (error) {
    // A container that has not started has no log (400).
    const hasNone = (error as { readonly code?: number }).code === 400;
    if (!hasNone && !isForbidden(error) && !isNotFound(error)) throw error;
    return { party, text: "", missing: `${party.title}: ${(error as Error).message}` };
  }
}

/** Pure: lines of all logs by time; of parties that serve many volumes only those that are wanted. */
export function mergedLines(logs: readonly Log[], wanted: (text: string) => boolean): readonly LogLine[] {
  const lines = logs.flatMap(({ party, text }) =>
    text.split("\n").flatMap((line) => {
      const [, at, rest] = /^(\S+) (.*)$/.exec(line) ?? [];
      if (at === undefined || rest === undefined || !(party.isOwn || wanted(rest))) return [];
      return [{ at, party: party.title, text: rest }];
    }),
  );
  return lines.toSorted((a, b) => compareTimes(a.at, b.at));
}

/** kubelet leaves zeros at the end of the fraction out, so texts of different length do not sort by time. */
function compareTimes(a: string, b: string): number {
  const [x, y] = [a.replace("Z", "").padEnd(29, "0"), b.replace("Z", "").padEnd(29, "0")];
  return x < y ? -1 : x > y ? 1 : 0;
}
