/** The role that a service account names in an annotation. */
import { DriverError } from "../../core/errors.ts";
import type { ServiceAccount } from "../../core/identity.ts";
import { annotations } from "../../core/names.ts";
import { isRoleArn } from "../../core/volume/volume-attributes.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type KubeObject, kinds } from "../../kube/kinds.ts";
import { type Call, deadline } from "../../runtime/call.ts";

export type RoleOfAccount = (call: Call, account: ServiceAccount) => Promise<string | undefined>;

/** In this order; the second is that of Amazon EKS. */
const names = [annotations.roleArn, "eks.amazonaws.com/role-arn"];

type Api = Pick<KubeClient, "get">;

/** An API server that does not answer must not hold up the renewals of other accounts, nor kubelet's call. */
const answerMs = 10_000;

/**
 * Rejects if the account is gone: kubelet gets no tokens for it any more, and its last one still has some time. Rejects with "notReady" while
 * the API server does not answer, or has too much to do.
 */
export function roleOfAccount(client: Api): RoleOfAccount {
  return async (call, { namespace, name }) => {
    const account = await accountAt(call, client, { namespace, name });
    if (account === undefined) {
      throw new DriverError("denied", `service account ${namespace}/${name} does not exist any more`, {
        hint: "Create it again, or restart the Pod with another service account.",
      });
    }
    const found = names.find((annotation) => account.metadata.annotations?.[annotation]);
    const role = found && account.metadata.annotations?.[found]?.trim();
    if (!role || isRoleArn(role)) return role || undefined;
    throw new DriverError(
      "invalid",
      `annotation ${found} of service account ${namespace}/${name} is not the ARN of a role`,
      {
        hint: "Write arn:aws:iam::ACCOUNT:role/NAME, or remove the annotation.",
      },
    );
  };
}

async function accountAt(call: Call, client: Api, account: ServiceAccount): Promise<KubeObject | undefined> {
  using limited = deadline(call, answerMs, "the API server to send a service account");
  try {
    return await client.get(limited, kinds.serviceAccounts, account);
  } catch (error) {
    if (call.signal.aborted) throw call.signal.reason;
    if (!limited.signal.aborted && !isServerState(error)) throw error;
    throw new DriverError("notReady", `service account ${account.namespace}/${account.name} cannot be read`, {
      cause: error,
      hint: "Check the API server; the call is repeated.",
    });
  }
}

/** Says nothing about the account. */
function isServerState(error: unknown): boolean {
  return error instanceof ApiError ? error.isServerState : error instanceof DriverError && error.kind === "notReady";
}
