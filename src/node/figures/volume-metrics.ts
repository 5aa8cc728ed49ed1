/**
 * The metrics of volumes in the text format of Prometheus. Written without prom-client: with the V8 flags of the node plugin it takes half a
 * second for 500 volumes, and this takes a tenth of that (bench/metrics).
 */
import type { NodeName, PvName } from "../../core/names.ts";
import { escapedLabel } from "../../metrics/text-format.ts";
import type { LocalMountpointPod, MountpointPods } from "../cluster/mountpoint-pods.ts";
import type { CredentialTimes } from "../mounts/comm-volume.ts";
import type { FigureReceivers } from "./figure-receivers.ts";
import { type FigureName, type FigureSeries, figures } from "./volume-figures.ts";

/** Everything about volumes that the node plugin serves. */
export function* metricsOfVolumes(parts: Parts & CredentialParts): Generator<string> {
  yield* volumeMetrics(parts);
  yield* credentialMetrics(parts);
}

/** In seconds since 1970, as the convention of Prometheus for times is; Prometheus computes the age. */
export const credentialsMetric = {
  name: "s3_csi_volume_credentials_changed_timestamp_seconds",
  help: "When the credentials of a mount were written last; they are written only if they have changed.",
  kind: "gauge",
} as const;

interface CredentialParts {
  readonly node: NodeName;
  readonly mountpointPods: { readonly store: { values(): Iterable<LocalMountpointPod> } };
  readonly comm: CredentialTimes;
}

/** Read from the files, so it is right after a restart of the node plugin, too. */
export function* credentialMetrics({ node, mountpointPods, comm }: CredentialParts): Generator<string> {
  const { name, help, kind } = credentialsMetric;
  yield `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`;
  for (const pod of mountpointPods.store.values()) {
    const changedAt = changeOf(comm, pod);
    if (changedAt !== undefined) yield `${name}{${labelsOf(node, pod)}} ${changedAt.getTime() / 1000}\n`;
  }
}

/** A Mountpoint Pod can write its own volume: one that has made a mess of it must not end the scrape of the others. */
function changeOf(comm: CredentialTimes, { uid }: LocalMountpointPod): Date | undefined {
  try {
    return comm.credentialsChangedAt(uid);
  } catch {
    return undefined;
  }
}

interface Parts {
  readonly node: NodeName;
  readonly receivers: Pick<FigureReceivers, "figures">;
  readonly mountpointPods: Pick<MountpointPods, "get">;
}

/** What mount-s3 reported last, in parts, because one string for all volumes would be large. The series of a volume go with its Mountpoint Pod. */
export function* volumeMetrics({ node, receivers, mountpointPods }: Parts): Generator<string> {
  const volumes = receivers.figures.flatMap(([name, reported]) => {
    const pod = mountpointPods.get(name);
    return pod === undefined ? [] : [{ labels: labelsOf(node, pod), reported }];
  });
  for (const [name, { help, kind }] of Object.entries(figures)) {
    const metric = `s3_csi_volume_${name}`;
    yield `# HELP ${metric} ${help}\n# TYPE ${metric} ${kind}\n`;
    for (const { labels, reported } of volumes) {
      const lines = linesOf(metric, labels, reported.named(name as FigureName));
      if (lines !== "") yield lines;
    }
  }
}

/** The claim is that for which the Mountpoint Pod was created. */
function labelsOf(node: NodeName, { name, claim = "", persistentVolume = "" as PvName }: LocalMountpointPod): string {
  const [namespace = "", claimName = ""] = claim.split("/");
  const labels = {
    node,
    namespace,
    persistentvolumeclaim: claimName,
    persistentvolume: persistentVolume,
    mountpoint_pod: name,
  };
  return Object.entries(labels)
    .map(([label, value]) => `${label}="${escapedLabel(value)}"`)
    .join(",");
}

function linesOf(metric: string, labels: string, series: readonly FigureSeries[]): string {
  let text = "";
  for (const { labels: own, value } of series) text += `${metric}{${labels}${own}} ${value}\n`;
  return text;
}
