/**
 * The same objects, written by a loop that knows what to write and looks at nothing: as fast as that, and no faster, could
 * a reconciler be on these cores.
 */
import { type KubeObject, kinds, type MountpointS3PodAttachment, type Pod } from "../../src/kube/kinds.ts";
import { inParallel } from "../../test/support/in-parallel.ts";
import type { SimulatedCluster } from "./simulated-cluster.ts";

export interface Originals {
  readonly pods: readonly Pod[];
  readonly attachments: readonly MountpointS3PodAttachment[];
}

export async function originalsIn({ call, client, mountpointNamespace, name }: SimulatedCluster): Promise<Originals> {
  const pods = await client.list(call, kinds.pods, { namespace: mountpointNamespace });
  const attachments = await client.list(call, kinds.attachments);
  // A workload of the lab's own nodes gets a Mountpoint Pod here, too, and keeps it.
  const isSimulated = ({ spec }: { readonly spec: { readonly nodeName?: string } }) => spec.nodeName?.startsWith(name);
  return { pods: pods.filter(isSimulated), attachments: attachments.filter(isSimulated) };
}

/** Each Pod before its attachment, as the reconciler does, with as many hands. */
export async function writeCopies({ call, client }: SimulatedCluster, { pods, attachments }: Originals): Promise<void> {
  const pairs = attachments.map((attachment, index) => ({ attachment, pod: pods[index] }));
  await inParallel(
    pairs,
    async ({ attachment, pod }) => {
      if (pod === undefined) throw new Error("there are fewer Mountpoint Pods than attachments");
      const { nodeName: _chosenByTheScheduler, ...spec } = pod.spec;
      await client.create(call, kinds.pods, { metadata: written(pod), ...{ spec } });
      await client.create(call, kinds.attachments, { metadata: written(attachment), ...{ spec: attachment.spec } });
    },
    hands,
  );
}

const hands = 16;

function written({ metadata: { name, namespace, labels, annotations } }: KubeObject) {
  return { name, namespace, labels, annotations };
}
