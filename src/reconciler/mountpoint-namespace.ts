/**
 * The namespace of Mountpoint Pods must not change while Mountpoint Pods run in the old one: the reconciler would not observe them,
 * would create others for their workloads, and would never end them. The chart refuses such an upgrade by a lookup in the cluster, which
 * tools that only render it (Argo CD, `helm template`) cannot do. So the reconciler checks this itself.
 */
import { setTimeout as delay } from "node:timers/promises";
import { DriverError } from "../core/errors.ts";
import { labels } from "../core/names.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { kinds, type MountpointS3PodAttachment, type Pod } from "../kube/kinds.ts";
import { keyOf } from "../kube/watch/store.ts";
import type { Call } from "../runtime/call.ts";
import type { View } from "./observe/view.ts";

const firstPauseMs = 500;
const longestPauseMs = 30_000;

/** Throws if the Mountpoint Pods that attachments list run in another namespace. Retries until the API server answers. */
export async function refuseOtherNamespaces(
  call: Call,
  client: Pick<KubeClient, "list">,
  namespace: string,
): Promise<void> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    const found = await observe(call, client).catch((error: unknown) => {
      call.signal.throwIfAborted();
      call.log.info("failed to list Mountpoint Pods of other namespaces, will retry", { error });
      return undefined;
    });
    if (found !== undefined) return refuseElsewhere(found, namespace);
    await delay(pauseMs, undefined, { signal: call.signal });
  }
}

/** Whether an attachment lists a Mountpoint Pod of the observed namespace: then nothing is refused, and nothing need be listed. */
export function isNamespaceInUse({ attachments, mountpointPods }: View, namespace: string): boolean {
  for (const { spec } of attachments.values()) {
    const names = Object.keys(spec.mountpointS3PodAttachments);
    if (names.some((name) => mountpointPods.get(keyOf({ namespace, name })) !== undefined)) return true;
  }
  return false;
}

interface Found {
  readonly attachments: readonly MountpointS3PodAttachment[];
  readonly pods: readonly Pod[];
}

async function observe(call: Call, client: Pick<KubeClient, "list">): Promise<Found> {
  const attachments = await client.list(call, kinds.attachments);
  const pods =
    attachments.length === 0 ? [] : await client.list(call, kinds.pods, { labelSelector: labels.driverVersion });
  return { attachments, pods };
}

/**
 * Refuses only if all listed Mountpoint Pods are in another namespace, as after a change of the setting. Every user can create a Pod with
 * such a name and label in a namespace of their own, and must not be able to stop the driver with it.
 */
function refuseElsewhere({ attachments, pods }: Found, namespace: string): void {
  const nodes = new Map(
    attachments.flatMap(({ spec }) =>
      Object.keys(spec.mountpointS3PodAttachments).map((name) => [name, spec.nodeName] as const),
    ),
  );
  const listed = pods.filter(({ metadata }) => nodes.has(metadata.name));
  if (listed.some(({ metadata }) => metadata.namespace === namespace)) return;
  const elsewhere = listed.find(({ metadata, spec, status }) => {
    const isAlive = status?.phase === "Running" || status?.phase === "Pending";
    return isAlive && nodes.get(metadata.name) === spec.nodeName;
  });
  if (elsewhere === undefined) return;
  const { namespace: other, name } = elsewhere.metadata;
  throw new DriverError(
    "inUse",
    `the namespace of Mountpoint Pods cannot change from ${other} to ${namespace} while ${other}/${name} serves workloads`,
    {
      hint: `Set mountpointPod.namespace back to ${other}, end the Pods that use S3 volumes, and change it then.`,
    },
  );
}
