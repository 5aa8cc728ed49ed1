/**
 * The namespace of Mountpoint Pods must not change while some run in the old one: this program would not see them, make others
 * for their workloads and never end them. Helm refuses such an upgrade by what it finds in the cluster; tools that only render
 * the chart (Argo CD, `helm template`) find nothing, so this program looks itself.
 */
import { DriverError } from "../core/errors.ts";
import { labels } from "../core/names.ts";
import type { KubeClient } from "../kube/client.ts";
import { kinds } from "../kube/kinds.ts";
import type { Call } from "../runtime/call.ts";

/** Throws while an attachment lists a Mountpoint Pod that lives in another namespace than this one. */
export async function refuseOtherNamespaces(
  call: Call,
  client: Pick<KubeClient, "list">,
  namespace: string,
): Promise<void> {
  const attachments = await client.list(call, kinds.attachments);
  const listed = new Set(attachments.flatMap(({ spec }) => Object.keys(spec.mountpointS3PodAttachments)));
  if (listed.size === 0) return;
  const pods = await client.list(call, kinds.pods, { labelSelector: labels.driverVersion });
  const elsewhere = pods.find(({ metadata }) => metadata.namespace !== namespace && listed.has(metadata.name));
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
