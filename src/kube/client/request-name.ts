/** Pure: what a request to the API server asks for, for metrics. Names of objects are left out: they have no bound. */

export interface RequestName {
  /** As in RBAC: get, list, watch, create, patch, delete. */
  readonly verb: string;
  /** The plural of the kind, with its subresource, such as `pods` or `pods/status`; empty for a path without a kind. */
  readonly resource: string;
}

const verbs: Readonly<Record<string, string>> = { POST: "create", PATCH: "patch", DELETE: "delete" };

/** `path` is path and query, as the client builds them: `/api/v1/…` or `/apis/<group>/<version>/…`. */
export function requestName(method: string, path: string): RequestName {
  const [route = "", query = ""] = path.split("?", 2);
  const [resource, name, subresource] = belowVersion(route);
  return {
    verb: verbs[method] ?? readVerb(query, resource !== undefined && name === undefined),
    resource: [resource, subresource].filter(Boolean).join("/"),
  };
}

/** Resource, name and subresource, without the namespace. */
function belowVersion(route: string): readonly string[] {
  const [, root, ...parts] = route.split("/");
  const groups: Readonly<Record<string, number>> = { api: 1, apis: 2 };
  const below = parts.slice(groups[root ?? ""] ?? parts.length);
  // The namespaces are a resource, too.
  return below[0] === "namespaces" && below.length > 2 ? below.slice(2) : below;
}

function readVerb(query: string, isCollection: boolean): string {
  if (query.includes("watch=true")) return "watch";
  return isCollection ? "list" : "get";
}
