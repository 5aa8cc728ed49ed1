/** What RBAC grants to an account, right by right, and what it has used of that by the API server's audit log. */
import { type AuditedRequest, auditedRequests, userOf } from "../../lab/audit.ts";
import type { Cluster } from "./cluster.ts";

export interface Account {
  readonly namespace: string;
  readonly name: string;
}

export interface Right {
  readonly verb: string;
  readonly apiGroup: string;
  /** With its subresource. */
  readonly resource: string;
  /** undefined: in every namespace, or the object has none. */
  readonly namespace: string | undefined;
  /** undefined: any object. */
  readonly name: string | undefined;
}

/** Roles and bindings among any objects. */
export interface AccessObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  // oxlint-disable-next-line typescript/no-explicit-any -- rules, subjects and roleRef, or whatever else an object has
  readonly [field: string]: any;
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** All that these objects grant to the account. */
export function rightsIn(objects: readonly AccessObject[], account: Account): readonly Right[] {
  const bindings = objects.filter(({ kind, ["subjects"]: subjects }) => {
    const named = (subjects ?? []) as readonly Account[];
    return kind.endsWith("RoleBinding") && named.some((one) => one.name === account.name);
  });
  return bindings.flatMap(({ metadata: { namespace }, ["roleRef"]: role }) => {
    const isMeant = (one: AccessObject) =>
      one.kind === role.kind && one.metadata.name === role.name && one.metadata.namespace === namespace;
    return objects
      .filter(isMeant)
      .flatMap((one) => (one["rules"] as Rule[]).flatMap((rule) => rightsOf(rule, namespace)));
  });
}

function rightsOf(rule: Rule, namespace: string | undefined): readonly Right[] {
  const names = rule.resourceNames ?? [undefined];
  return rule.apiGroups.flatMap((apiGroup) =>
    rule.resources.flatMap((resource) =>
      names.flatMap((name) => rule.verbs.map((verb) => ({ verb, apiGroup, resource, namespace, name }))),
    ),
  );
}

/** What the API server has in force. */
export async function accessObjects(cluster: Cluster): Promise<readonly AccessObject[]> {
  return await cluster.list<AccessObject>("clusterroles,clusterrolebindings,roles,rolebindings", "-A");
}

export function requestsOf(cluster: Cluster, { namespace, name }: Account): readonly AuditedRequest[] {
  const user = userOf(name, namespace);
  return auditedRequests(cluster.lab.layout).filter(({ user: { username } }) => username === user);
}

export function unusedRights(rights: readonly Right[], requests: readonly AuditedRequest[]): readonly Right[] {
  return rights.filter((right) => !requests.some((request) => isUse(right, request)));
}

export function isRefused({ responseStatus }: AuditedRequest): boolean {
  return responseStatus?.code === 403;
}

function isUse(right: Right, request: AuditedRequest): boolean {
  const { objectRef, verb } = request;
  if (objectRef === undefined || verb !== right.verb || isRefused(request)) return false;
  const { apiGroup = "", resource, subresource, namespace, name } = objectRef;
  return (
    apiGroup === right.apiGroup &&
    [resource, subresource].filter(Boolean).join("/") === right.resource &&
    (right.namespace === undefined || right.namespace === namespace) &&
    (right.name === undefined || right.name === name)
  );
}

/** Such as `patch leases.coordination.k8s.io/s3-pod-reconciler in kube-system`. */
export function described({ verb, apiGroup, resource, namespace, name }: Right): string {
  const what = [resource, apiGroup].filter(Boolean).join(".");
  const which = name === undefined ? "" : ` ${name}`;
  return `${verb} ${what}${which}${namespace === undefined ? "" : ` in ${namespace}`}`;
}
