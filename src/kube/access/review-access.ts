import type { Access } from "../../core/access.ts";
import type { Call } from "../../runtime/call.ts";
import type { Secret } from "../../runtime/secret.ts";
import type { KubeClient } from "../client/client.ts";
import { kinds } from "../kinds.ts";

export type Reviewer = Pick<KubeClient, "review">;

/** What a user has to be allowed to do. */
export type Right =
  /** `path` is no resource, such as `/metrics`. */
  | { readonly verb: string; readonly path: string }
  /** Of the whole cluster: all objects, in all namespaces. */
  | { readonly verb: string; readonly group: string; readonly resource: string };

/**
 * Asks the API server whose token this is, and whether that user has all rights. Rejects if the API server does not answer, or does not
 * let this account ask.
 */
export async function reviewAccess(
  call: Call,
  client: Reviewer,
  token: Secret,
  rights: readonly Right[],
): Promise<Access> {
  const { status: who } = await client.review(call, kinds.tokenReviews, { token: token.reveal() });
  if (who?.authenticated !== true || who.user === undefined) {
    return { is: "unauthenticated", because: "the API server does not know this token" };
  }
  const { username: user = "", uid, groups, extra } = who.user;
  const reviews = rights.map(async (right) => {
    const spec = { user, uid, groups, extra, ...attributesOf(right) };
    const { status } = await client.review(call, kinds.subjectAccessReviews, spec);
    return status?.allowed === true ? [] : [nameOf(right)];
  });
  const missing = (await Promise.all(reviews)).flat();
  if (missing.length === 0) return { is: "allowed" };
  return {
    is: "forbidden",
    because: `${user} may not ${missing.join(", ")}: bind it to a ClusterRole that allows it`,
  };
}

function attributesOf(right: Right): object {
  const { verb } = right;
  if ("path" in right) return { nonResourceAttributes: { path: right.path, verb } };
  return { resourceAttributes: { group: right.group, resource: right.resource, verb } };
}

function nameOf(right: Right): string {
  if ("path" in right) return `${right.verb} the nonResourceURL ${right.path}`;
  const { verb, group, resource } = right;
  return `${verb} ${group === "" ? resource : `${resource}.${group}`} in the whole cluster`;
}
