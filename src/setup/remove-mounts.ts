/**
 * Before the driver is uninstalled, while its node plugins can still unmount: ends every Mountpoint Pod and removes all attachments.
 * Fails while a workload uses a volume: its mount stays, and so does the driver.
 */
import { setTimeout as pause } from "node:timers/promises";
import { DriverError } from "../core/errors.ts";
import { phaseOf } from "../core/mountpoint-pod-state.ts";
import { annotations, labels } from "../core/names.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { kinds, type MountpointS3PodAttachment, type Pod } from "../kube/kinds.ts";
import { unlessChanged } from "../kube/unless-changed.ts";
import { type Call, deadline } from "../runtime/call.ts";

export interface Removal {
  readonly mountpointNamespace: string;
  /** The ConfigMap with which Mountpoint Pods that wait for volumes end; undefined: there are none. */
  readonly warmOwner: string | undefined;
  readonly limitMs: number;
  /** How often to look. */
  readonly everyMs: number;
}

type Client = Pick<KubeClient, "get" | "list" | "pages" | "patch" | "delete">;

/**
 * Every write is conditional on the version that was observed. The reconciler still runs: an attachment may get a workload, and a
 * Mountpoint Pod may start, after this observation. The API server then answers Conflict, and the next round observes everything
 * again.
 */
export async function removeMounts(call: Call, client: Client, removal: Removal): Promise<void> {
  using limited = deadline(call, removal.limitMs, "Mountpoint Pods to unmount");
  for (;;) {
    const seen = await observe(limited, client, removal.mountpointNamespace);
    refuseWhileInUse(seen.workloads);
    const left = [...seen.workloads, ...seen.mountpointPods];
    // While it exists, the reconciler replaces every Mountpoint Pod that waits for a volume.
    if (seen.workloads.length === 0) await removeWarmOwner(limited, client, removal);
    const isUnchanged = seen.workloads.length > 0 || (await removedAsSeen(limited, client, seen));
    if (left.length === 0 && isUnchanged) return;
    call.log.info("waiting for Pods to end", { pods: left.map(nameOf) });
    await pause(removal.everyMs, undefined, { signal: limited.signal });
  }
}

async function removeWarmOwner(call: Call, client: Client, { warmOwner, mountpointNamespace }: Removal): Promise<void> {
  if (warmOwner === undefined) return;
  const ref = { name: warmOwner, namespace: mountpointNamespace };
  const owner = await client.get(call, kinds.configMaps, ref);
  if (owner !== undefined) await client.delete(call, kinds.configMaps, ref, { uid: owner.metadata.uid });
}

/** False if an object has changed, or is gone, since it was observed. */
async function removedAsSeen(call: Call, client: Client, seen: Seen): Promise<boolean> {
  return await unlessChanged(removeSeen(call, client, seen), (error) => {
    call.log.info("an object has changed since it was observed, observing again", { error });
  });
}

/** Attachments first: as long as one of them changes, no Mountpoint Pod is touched. */
async function removeSeen(call: Call, client: Client, { attachments, mountpointPods }: Seen): Promise<void> {
  for (const { metadata } of attachments) {
    const { uid, resourceVersion } = metadata;
    await client.delete(call, kinds.attachments, metadata, { uid, resourceVersion });
  }
  for (const pod of mountpointPods) await end(call, client, pod);
}

interface Seen {
  readonly attachments: readonly MountpointS3PodAttachment[];
  readonly mountpointPods: readonly Pod[];
  /** The Pods that attachments name, and that have not ended. */
  readonly workloads: readonly Pod[];
}

async function observe(call: Call, client: Client, namespace: string): Promise<Seen> {
  const attachments = await client.list(call, kinds.attachments);
  const lists = attachments.flatMap(({ spec }) => Object.values(spec.mountpointS3PodAttachments));
  const uids = new Set(lists.flat().map(({ workloadPodUID }) => workloadPodUID));
  const workloads: Pod[] = [];
  if (uids.size > 0) {
    for await (const { objects } of client.pages(call, kinds.pods, {})) {
      workloads.push(...objects.filter((pod) => uids.has(pod.metadata.uid) && !hasEnded(pod)));
    }
  }
  // Other Pods in the namespace do not belong to the driver.
  const mountpointPods = await client.list(call, kinds.pods, { namespace, labelSelector: labels.driverVersion });
  return { attachments, mountpointPods, workloads };
}

/** Workloads that are being deleted do not count: the caller waits for them. */
function refuseWhileInUse(workloads: readonly Pod[]): void {
  const using = workloads.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (using.length === 0) return;
  const shown = using.slice(0, 10).map(nameOf).join(", ");
  const more = using.length > 10 ? ` and ${using.length - 10} more` : "";
  throw new DriverError("busy", `S3 volumes are in use by ${shown}${more}`, {
    hint: "Delete these Pods first, or uninstall with --no-hooks and remove their Mountpoint Pods yourself.",
  });
}

/** A running Mountpoint Pod ends after the node plugin has unmounted its source. Only a Pod that does not run is deleted. */
async function end(call: Call, client: Client, pod: Pod): Promise<void> {
  const { metadata, status } = pod;
  const { uid, resourceVersion } = metadata;
  // A Pod on a lost node counts as running elsewhere. Here it would hold up the uninstallation for ever.
  const isUp = status?.phase !== "Unknown" && phaseOf(status ?? {}) === "running";
  if (!isUp) await client.delete(call, kinds.pods, metadata, { uid, resourceVersion });
  else if (metadata.annotations?.[annotations.needsUnmount] !== "true") {
    const patch = { metadata: { uid, resourceVersion, annotations: { [annotations.needsUnmount]: "true" } } };
    await client.patch(call, kinds.pods, metadata, patch);
  }
}

function hasEnded({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

function nameOf({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.name}`;
}
