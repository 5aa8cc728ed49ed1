/**
 * Before an upgrade from 2.x: its controller's Deployment rolls, and two controllers at a time must not be, because that of 2.x knows
 * no lease. The chart cannot say so alone: what the API server filled in for the old strategy belongs to nobody, so a
 * server-side apply, which is how Helm 4 works, leaves it, and the new strategy is invalid beside it.
 */
import type { KubeClient } from "../kube/client/client.ts";
import type { Kind, KubeObject } from "../kube/kinds.ts";
import type { Call } from "../runtime/call.ts";

const deployments: Kind<KubeObject> = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  plural: "deployments",
  scope: "namespaced",
};

export async function recreateController(call: Call, client: KubeClient, namespace: string): Promise<void> {
  const ref = { namespace, name: "s3-csi-controller" };
  await client.patch(call, deployments, ref, { spec: { strategy: { type: "Recreate", rollingUpdate: null } } });
  call.log.info("the controller's Deployment ends its old Pod first", ref);
}
