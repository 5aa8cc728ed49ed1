import type { Registry } from "prom-client";
import type { NodeName } from "../../core/names.ts";
import { declareMeasured } from "../../metrics/measured.ts";
import type { MountpointPods } from "../cluster/mountpoint-pods.ts";
import type { FigureReceivers } from "./figure-receivers.ts";
import { type FigureName, type FigureSeries, figures } from "./volume-figures.ts";

/** Labels of every series of a volume. The claim is that for which the Mountpoint Pod was created. */
const labels = ["node", "namespace", "persistentvolumeclaim", "persistentvolume", "mountpoint_pod"] as const;

interface Parts {
  readonly node: NodeName;
  readonly receivers: Pick<FigureReceivers, "figures">;
  readonly mountpointPods: Pick<MountpointPods, "get">;
}

/** Declares the metrics of volumes: what mount-s3 reported last. The series of a volume go with its Mountpoint Pod. */
export function declareVolumeMetrics(registry: Registry, parts: Parts): void {
  for (const [name, { help, kind, by }] of Object.entries(figures)) {
    declareMeasured<string>(registry, {
      name: `s3_csi_volume_${name}`,
      help,
      kind,
      labels: [...labels, ...by],
      read: () => seriesNamed(parts, name as FigureName, by),
    });
  }
}

function* seriesNamed(
  { node, receivers, mountpointPods }: Parts,
  name: FigureName,
  by: readonly ("operation" | "code")[],
) {
  for (const [mountpointPod, volume] of receivers.figures) {
    const pod = mountpointPods.get(mountpointPod);
    if (pod === undefined) continue;
    const [namespace = "", claim = ""] = pod.claim?.split("/") ?? [];
    const own = {
      node,
      namespace,
      persistentvolumeclaim: claim,
      persistentvolume: pod.persistentVolume,
      mountpoint_pod: mountpointPod,
    };
    for (const series of volume.series) {
      if (series.name === name) yield [{ ...own, ...pick(series, by) }, series.value] as const;
    }
  }
}

function pick(series: FigureSeries, by: readonly ("operation" | "code")[]): Readonly<Record<string, string>> {
  return Object.fromEntries(by.map((label) => [label, series[label]]));
}
