/** Lists from the API server, for answers for which the cache may be too old: the watch may be minutes behind. */
import type { SecretKey } from "../core/protected-secrets.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { kinds, type PersistentVolume } from "../kube/kinds.ts";
import type { Call } from "../runtime/call.ts";
import { isOurs, secretsOf } from "./cached-volume.ts";

export type Pages = Pick<KubeClient, "pages">;

/** Every PersistentVolume of this driver. */
export async function* volumesNow(call: Call, client: Pages): AsyncGenerator<PersistentVolume> {
  for await (const { objects } of client.pages(call, kinds.persistentVolumes, {})) yield* objects.filter(isOurs);
}

/** A released Secret can be deleted at once. */
export async function secretsNeededNow(call: Call, client: Pages): Promise<ReadonlySet<SecretKey>> {
  const needed = new Set<SecretKey>();
  for await (const object of volumesNow(call, client)) {
    const { neededSecret } = secretsOf(object);
    if (neededSecret) needed.add(neededSecret);
  }
  return needed;
}

/** The UIDs of the claims for which csi-provisioner may still create a PersistentVolume. A bound claim has its own, whose bucket is known. */
export async function* pendingClaimUids(call: Call, client: Pages): AsyncGenerator<string> {
  for await (const { objects } of client.pages(call, kinds.persistentVolumeClaims, {})) {
    for (const { metadata, spec } of objects) if (!spec.volumeName) yield metadata.uid;
  }
}
