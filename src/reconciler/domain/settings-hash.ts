/** One comparable value of the settings with which Mountpoint Pods are created. Pure. */
import { createHash } from "node:crypto";
import type { MountpointPodConfig } from "./mountpoint-pod.ts";
import type { S3Volume } from "./persistent-volume.ts";

/**
 * LC-21. Differs where a Mountpoint Pod that is created now differs from an earlier one of the same volume. Settings that matter only for
 * the start of a container, or for Pods of some volumes only, are left out: a change of those is no reason to replace Pods that run.
 */
export function settingsHash(config: MountpointPodConfig): string {
  const { namespace: _namespace, imagePullPolicy: _policy, imagePullSecrets: _secrets, ...rest } = config;
  const { preemptingPriorityClassName: _preempting, ca, ...settings } = rest;
  const authority = ca && { configMap: ca.configMap, checksum: ca.checksum, image: ca.image, resources: ca.resources };
  return createHash("sha256")
    .update(canonical({ ...settings, authority }))
    .digest("hex")
    .slice(0, 12);
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
