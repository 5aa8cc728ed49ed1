/** One comparable value of the settings with which Mountpoint Pods are created. Pure. */
import { createHash } from "node:crypto";
import type { ResourceList } from "../../../core/volume/container-resources.ts";
import { parseQuantity } from "../../../core/volume/quantity.ts";
import type { S3Volume } from "../persistent-volume.ts";
import type { MountpointPodConfig } from "./mountpoint-pod.ts";
import { validLabels, withoutRequests } from "./pod-metadata.ts";

/**
 * LC-21. Differs where a Mountpoint Pod that is created now differs from an earlier one of the same volume. Settings that matter only for
 * the start of a container, or for Pods of some volumes only, are left out: a change of those is no reason to replace Pods that run. So
 * are labels and annotations that reach no Pod, and other notations of the same amount.
 */
export function settingsHash(config: MountpointPodConfig): string {
  const { namespace: _namespace, imagePullPolicy: _policy, imagePullSecrets: _secrets, ...rest } = config;
  const { preemptingPriorityClassName: _preempting, ca, resources, extra, ...settings } = rest;
  const reaching = {
    authority: ca && { configMap: ca.configMap, checksum: ca.checksum },
    resources: { requests: amounts(resources.requests), limits: amounts(resources.limits) },
    extra: { labels: validLabels(extra.labels), annotations: withoutRequests(extra.annotations) },
  };
  return createHash("sha256")
    .update(canonical({ ...settings, ...reaching }))
    .digest("hex")
    .slice(0, 12);
}

/** 500m and 0.5 are the same. Sums and products of decimal fractions differ in their last digits. */
function amounts(list: ResourceList): Readonly<Record<string, string>> {
  const entries = Object.entries(list).map(([name, amount]) => [
    name,
    parseQuantity(amount)?.toPrecision(12) ?? amount,
  ]);
  return Object.fromEntries(entries) as Readonly<Record<string, string>>;
}

/** The value for a Mountpoint Pod of this volume: its live options count, too. */
export function settingsOf(hash: string, { live }: Pick<S3Volume, "live">): string {
  if (Object.keys(live.annotations).length === 0) return hash;
  const own = createHash("sha256").update(canonical(live.annotations)).digest("hex").slice(0, 12);
  return `${hash}.${own}`;
}

/** The part that is the same for all volumes. */
export function installationPart(settings: string | undefined): string | undefined {
  return settings?.split(".", 1)[0];
}

/** The same text whatever the order of the fields: Helm sorts maps, other tools keep the order of their manifests. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, each]) => `${JSON.stringify(name)}:${canonical(each)}`).join(",")}}`;
}
