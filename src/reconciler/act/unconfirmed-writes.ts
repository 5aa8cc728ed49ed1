/**
 * SC-7. Writes that may have taken effect although the view does not show it: their answer was lost, or the watch is late. A decision from
 * such a view could list a workload twice, or take the Mountpoint Pod of a written attachment for orphaned.
 */
import { DriverError } from "../../core/errors.ts";
import { mountpointPodFrom } from "../../core/mountpoint-pod-state.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Call } from "../../runtime/call.ts";
import type { VolumeOnNodeKey } from "../domain/volume-on-node.ts";
import { untilAttachment, untilPod, type Viewed } from "./attempt.ts";

/** The object of a write. */
export interface Target {
  readonly key: VolumeOnNodeKey;
  readonly kind: "mountpointPod" | "attachment";
  readonly name: string;
}

export interface Confirming extends Viewed {
  readonly reader: Pick<KubeClient, "find">;
}

export class UnconfirmedWrites {
  readonly #targets = new Map<VolumeOnNodeKey, readonly Target[]>();

  add(target: Target): void {
    const { key } = target;
    const others = (this.#targets.get(key) ?? []).filter(
      (each) => each.kind !== target.kind || each.name !== target.name,
    );
    this.#targets.set(key, [...others, target]);
  }

  /** Resolves when the view shows what the API server has of all such objects. Rejects if the view does not within seconds. */
  async confirm(call: Call, cluster: Confirming, key: VolumeOnNodeKey): Promise<void> {
    for (const target of this.#targets.get(key) ?? []) await confirm(call, cluster, target);
    this.#targets.delete(key);
  }
}

/** Whether a write that failed with this error may have taken effect. */
export function mayHaveWritten(error: unknown): boolean {
  if (error instanceof ApiError) return error.code >= 500;
  // The view shows the object that has the name.
  return !(error instanceof DriverError && error.kind === "exists");
}

function confirm(call: Call, cluster: Confirming, { kind, name }: Target): Promise<void> {
  return kind === "attachment" ? confirmAttachment(call, cluster, name) : confirmPod(call, cluster, name);
}

async function confirmAttachment(call: Call, cluster: Confirming, name: string): Promise<void> {
  const { object, version } = await cluster.reader.find(call, kinds.attachments, { name });
  const read = { object: object?.metadata.resourceVersion, version };
  await untilAttachment(call, cluster, name, (seen) => isAsNew(seen?.metadata.resourceVersion, read));
}

async function confirmPod(call: Call, cluster: Confirming, name: string): Promise<void> {
  const { namespace } = cluster.mountpointPods;
  const { object, version } = await cluster.reader.find(call, kinds.pods, { namespace, name });
  // Another Pod of this name never enters the view.
  const read = { object: object && mountpointPodFrom(object)?.resourceVersion, version };
  await untilPod(call, cluster, name, (seen) => isAsNew(seen?.resourceVersion, read));
}

interface Read {
  /** The version of the object; undefined: there was none. */
  readonly object: string | undefined;
  /** Of the answer. */
  readonly version: string;
}

/** Versions are integers that grow with every write to the cluster, unless etcd is restored from a backup: then the watch lists anew. */
function isAsNew(seen: string | undefined, { object, version }: Read): boolean {
  if (seen === undefined) return object === undefined;
  return BigInt(seen) >= BigInt(object ?? version);
}
