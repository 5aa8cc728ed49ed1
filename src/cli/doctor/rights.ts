/** Asks the API server what the accounts of the driver may do. */
import { attachmentApi } from "../../core/names.ts";
import type { Namespaces } from "../../topology/cluster.ts";
import type { Workload } from "../../topology/objects.ts";
import { isForbidden } from "../api/request-errors.ts";
import type { RightState } from "./installation.ts";
import type { Reader } from "./read-installation.ts";

interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly subresource?: string;
}

interface Parts {
  readonly deployment: Workload | undefined;
  readonly daemonSet: Workload | undefined;
  readonly namespaces: Namespaces;
}

export async function readRights(reader: Reader, parts: Parts): Promise<readonly RightState[]> {
  const { driver, mountpointPods } = parts.namespaces;
  const controller = accountOf(parts.deployment, driver);
  const node = accountOf(parts.daemonSet, driver);
  const questions = [
    ...(controller === undefined
      ? []
      : controllerRights(mountpointPods).map((right) => ({ account: controller, right }))),
    ...(node === undefined ? [] : nodeRights(mountpointPods).map((right) => ({ account: node, right }))),
  ];
  try {
    return await Promise.all(questions.map(({ account, right }) => ask(reader, account, right)));
  } catch (error) {
    if (!isForbidden(error)) throw error;
    reader.unreadable.push(`rights of the driver: ${(error as Error).message}`);
    return [];
  }
}

function controllerRights(mountpointPods: string): readonly Right[] {
  const volumes = ["pods", "persistentvolumes", "persistentvolumeclaims"];
  return [
    ...volumes.flatMap((resource) => ["list", "watch"].map((verb) => ({ verb, group: "", resource }))),
    ...["create", "patch", "delete"].map((verb) => ({ verb, group: "", resource: "pods", namespace: mountpointPods })),
    ...["list", "watch", "create", "patch", "delete"].map(toAttachments),
    { ...toAttachments("patch"), subresource: "status" },
    { verb: "create", group: "", resource: "events" },
  ];
}

function nodeRights(mountpointPods: string): readonly Right[] {
  return [
    ...["list", "watch"].map(toAttachments),
    ...["list", "watch"].map((verb) => ({ verb, group: "", resource: "pods", namespace: mountpointPods })),
    { ...toAttachments("patch"), subresource: "status" },
  ];
}

function toAttachments(verb: string): Right {
  return { verb, group: attachmentApi.group, resource: attachmentApi.plural };
}

function accountOf(workload: Workload | undefined, namespace: string): string | undefined {
  const name = workload?.spec.template.spec.serviceAccountName;
  return name && `system:serviceaccount:${namespace}:${name}`;
}

async function ask({ signal, api }: Reader, account: string, right: Right): Promise<RightState> {
  const { verb, group, resource, subresource, namespace } = right;
  // A token of an account belongs to these groups, and rights may be given to them.
  const [, , ofAccount = ""] = account.split(":");
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${ofAccount}`, "system:authenticated"];
  const resourceAttributes = { verb, group, resource, subresource, namespace };
  const { status } = await api.json<{ status: { allowed: boolean } }>(signal, {
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user: account, groups, resourceAttributes },
    },
  });
  const what = subresource === undefined ? resource : `${resource}/${subresource}`;
  const where = namespace === undefined ? "" : ` in ${namespace}`;
  return { account, right: `${verb} ${what}${where}`, allowed: status.allowed };
}
