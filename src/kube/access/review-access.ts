import type { Access } from "../../core/access.ts";
import type { Call } from "../../runtime/call.ts";
import type { Secret } from "../../runtime/secret.ts";
import type { KubeClient } from "../client/client.ts";
import { kinds } from "../kinds.ts";

export type Reviewer = Pick<KubeClient, "review">;

/**
 * Asks the API server whose token this is, and whether that user may get a path that is no resource, such as `/metrics`. Rejects if the
 * API server does not answer, or does not let this account ask.
 */
export async function reviewAccess(call: Call, client: Reviewer, token: Secret, path: string): Promise<Access> {
  const { status: who } = await client.review(call, kinds.tokenReviews, { token: token.reveal() });
  if (who?.authenticated !== true || who.user === undefined) {
    return { is: "unauthenticated", because: "the API server does not know this token" };
  }
  const { username: user = "", uid, groups, extra } = who.user;
  const nonResourceAttributes = { path, verb: "get" };
  const spec = { user, uid, groups, extra, nonResourceAttributes };
  const { status: right } = await client.review(call, kinds.subjectAccessReviews, spec);
  if (right?.allowed === true) return { is: "allowed" };
  return {
    is: "forbidden",
    because: `${user} may not get the nonResourceURL ${path}: bind it to a ClusterRole that allows it`,
  };
}
