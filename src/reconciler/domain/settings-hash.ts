/** One comparable value of the settings with which Mountpoint Pods are created. Pure. */
import { createHash } from "node:crypto";
import type { MountpointPodConfig } from "./mountpoint-pod.ts";

/**
 * LC-21. Differs where a Mountpoint Pod that is created now differs from an earlier one of the same volume. Settings that matter only for
 * the start of a container, or for Pods of some volumes only, are left out: a change of those is no reason to replace Pods that run.
 */
export function settingsHash(config: MountpointPodConfig): string {
  const { namespace: _namespace, imagePullPolicy: _policy, imagePullSecrets: _secrets, ...rest } = config;
  const { preemptingPriorityClassName: _preempting, ca, ...settings } = rest;
  const authority = ca && { configMap: ca.configMap, image: ca.image, resources: ca.resources };
  return createHash("sha256")
    .update(canonical({ ...settings, authority }))
    .digest("hex")
    .slice(0, 12);
}

/** The same text whatever the order of the fields: Helm sorts maps, other tools keep the order of their manifests. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, each]) => `${JSON.stringify(name)}:${canonical(each)}`).join(",")}}`;
}
