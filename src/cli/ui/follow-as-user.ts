import { type Follower, followCluster } from "../../page/follow-cluster.ts";
import { followRates, type RatesFollower } from "../../page/follow-rates.ts";
import type { ApiServer } from "../api/api-server.ts";
import { findNamespaces, readable, type Scope } from "../cluster/read-cluster.ts";
import { figuresAsUser } from "./figures-as-user.ts";

/** Follows what the user may read. Rejects if the cluster cannot be reached at the start; resolves when the signal aborts. */
export async function followAsUser(
  signal: AbortSignal,
  api: ApiServer,
  scope: Scope,
  follower: Follower & RatesFollower,
): Promise<void> {
  const unreadable: string[] = [];
  const namespaces = await findNamespaces(signal, api, scope, readable(unreadable));
  await Promise.all([
    followCluster(signal, api, { namespace: scope.namespace, namespaces, unreadable }, follower),
    followRates(signal, figuresAsUser(api, namespaces.driver), follower),
  ]);
}
