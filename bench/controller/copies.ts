/**
 * The same objects, written by a loop that knows what to write and looks at nothing: as fast as that, and no faster, could
 * a reconciler be on these cores.
 */
import { statusManagers } from "../../src/core/attachment-status.ts";
import { type KubeObject, kinds, type MountpointS3PodAttachment, type Pod } from "../../src/kube/kinds.ts";
import { inParallel } from "../../test/support/in-parallel.ts";
import type { SimulatedCluster } from "./simulated-cluster.ts";

/** What the reconciler wrote for one workload. */
export interface Original {
  readonly pod: Pod;
  readonly attachment: MountpointS3PodAttachment;
}

/** Those of the volumes of these names. */
export async function originalsOf(
  { call, client, mountpointNamespace }: SimulatedCluster,
  volumes: readonly string[],
): Promise<readonly Original[]> {
  const wanted = new Set(volumes);
  const pods = await client.list(call, kinds.pods, { namespace: mountpointNamespace });
  const byName = new Map(pods.map((pod) => [pod.metadata.name, pod]));
  const attachments = await client.list(call, kinds.attachments);
  return attachments
    .filter(({ spec }) => wanted.has(spec.persistentVolumeName))
    .map((attachment) => {
      const [name = ""] = Object.keys(attachment.spec.mountpointS3PodAttachments);
      const pod = byName.get(name);
      if (pod === undefined) throw new Error(`attachment ${attachment.metadata.name} names no Mountpoint Pod`);
      return { pod, attachment };
    });
}

/** As many workers write statuses in the reconciler, where they do not hold up the others. */
const statusWorkers = 4;

/** Each Pod before its attachment. Resolves when the last attachment is written; `statuses`, when the last status is. */
export async function writeCopies(
  { call, client }: SimulatedCluster,
  originals: readonly Original[],
  hands: number,
): Promise<{ readonly statuses: Promise<unknown> }> {
  const manager = statusManagers.controller;
  const queues = Array.from({ length: statusWorkers }, () => Promise.resolve<unknown>(undefined));
  let count = 0;
  await inParallel(
    originals,
    async ({ attachment, pod }) => {
      const { nodeName: _chosenByTheScheduler, ...spec } = pod.spec;
      await client.create(call, kinds.pods, { metadata: written(pod), ...{ spec } });
      const copy = { metadata: written(attachment), ...{ spec: attachment.spec } };
      const { metadata } = await client.create(call, kinds.attachments, copy);
      const { status = {} } = attachment;
      const apply = () => client.applyStatus(call, kinds.attachments, metadata, { manager, status });
      const at = count++ % statusWorkers;
      queues[at] = queues[at]?.then(apply) ?? apply();
    },
    hands,
  );
  return { statuses: Promise.all(queues) };
}

function written({ metadata: { name, namespace, labels, annotations } }: KubeObject) {
  return { name, namespace, labels, annotations };
}
