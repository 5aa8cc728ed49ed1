/**
 * Before an upgrade: updates the custom resource definition to that of the chart. Helm installs the files of crds/ once and never
 * updates them, and a cluster with 1.x has no definition at all.
 */
import { ApiError } from "../kube/client/api-error.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Kind, KubeObject } from "../kube/kinds.ts";
import type { Call } from "../runtime/call.ts";

export interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

const definitions: Kind<KubeObject> = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  scope: "cluster",
};

/**
 * Objects of the kind stay: the one version v2 is served before and after. A merge patch replaces the list of versions as a whole,
 * so nothing of the old schema is left.
 */
export async function installKind(call: Call, client: KubeClient, wanted: Definition): Promise<void> {
  const { name } = wanted.metadata;
  if ((await client.get(call, definitions, { name })) === undefined && (await created(call, client, wanted))) return;
  const { metadata } = await client.patch(call, definitions, { name }, { spec: wanted.spec });
  call.log.info("custom resource definition is up to date", { name, resourceVersion: metadata.resourceVersion });
}

/** False if another process has created the definition in the meantime. */
async function created(call: Call, client: KubeClient, { metadata: { name }, spec }: Definition): Promise<boolean> {
  try {
    await client.create(call, definitions, { metadata: { name }, ...{ spec } });
  } catch (error) {
    if (error instanceof ApiError && error.isAlreadyExists) return false;
    throw error;
  }
  call.log.info("custom resource definition is installed", { name });
  return true;
}
