/** The UID of this cluster, which keeps the buckets of several clusters apart that use the same account. */
import { ApiError } from "../kube/client/api-error.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { kinds } from "../kube/kinds.ts";
import type { Call } from "../runtime/call.ts";

/** undefined: the driver has no right to read the UID. */
export type ClusterId = (call: Call) => Promise<string | undefined>;

/** Exists in every cluster and cannot be deleted, so its UID identifies the cluster. */
const namespace = "kube-system";

export function clusterIdFrom(client: Pick<KubeClient, "get">): ClusterId {
  let uid: string | undefined;
  return async (call) => {
    try {
      uid ??= (await client.get(call, kinds.namespaces, { name: namespace }))?.metadata.uid;
    } catch (error) {
      // Manifests of 2.x do not grant the right. The next call tries again: an upgrade may have granted it since.
      if (!(error instanceof ApiError && error.isForbidden)) throw error;
    }
    return uid;
  };
}
