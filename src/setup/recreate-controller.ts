/**
 * Before an upgrade from 2.x: makes the Deployment of the controller end the old Pod before it starts the new one. Two controllers
 * must not run at the same time, and that of 2.x uses no lease. The chart alone cannot change the strategy: no field manager owns
 * the `rollingUpdate` defaults of the API server, so server-side apply, which Helm 4 uses, keeps them, and `Recreate` is invalid
 * with them.
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
  call.log.info("the Deployment of the controller now ends the old Pod before it starts a new one", ref);
}
