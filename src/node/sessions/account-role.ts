/** The role that a service account names in an annotation. */
import { DriverError } from "../../core/errors.ts";
import type { ServiceAccount } from "../../core/identity.ts";
import { annotations } from "../../core/names.ts";
import { isRoleArn } from "../../core/volume-attributes.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Call } from "../../runtime/call.ts";

export type RoleOfAccount = (call: Call, account: ServiceAccount) => Promise<string | undefined>;

/** In this order; the second is that of Amazon EKS. */
const names = [annotations.roleArn, "eks.amazonaws.com/role-arn"];

/** Rejects if the account is gone: kubelet gets no tokens for it any more, and its last one still has some time. */
export function roleOfAccount(client: Pick<KubeClient, "get">): RoleOfAccount {
  return async (call, { namespace, name }) => {
    const account = await client.get(call, kinds.serviceAccounts, { namespace, name });
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
