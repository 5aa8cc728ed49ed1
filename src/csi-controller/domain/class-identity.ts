/** StorageClass parameters `authenticationSource` and `roleArn`: whose credentials the volumes are mounted with (ID-1). */
import { quoted } from "../../core/volume/attribute-refusal.ts";
import { isRoleArn } from "../../core/volume/volume-attributes.ts";
import { resolved, type Variables } from "./class-variables.ts";
import { parameterRefusal } from "./parameter-refusal.ts";

/** Each workload uses credentials for its own service account. */
export interface PodIdentity {
  /** undefined: the role of the account, else of the store. */
  readonly roleArn: string | undefined;
}

/**
 * undefined: the Secrets that the StorageClass names decide, as in 2.x. "driver" and "secret" therefore change nothing; other values are
 * refused, because a misspelt "pod" would mount volumes with the driver's credentials.
 */
export function parsePodIdentity(raw: Readonly<Record<string, string>>, variables: Variables): PodIdentity | undefined {
  const source = raw["authenticationSource"]?.trim() ?? "";
  const roleArn = raw["roleArn"]?.trim() ?? "";
  if (!["", "driver", "secret", "pod"].includes(source)) {
    throw parameterRefusal(
      "authenticationSource",
      `${quoted(source)} is not known`,
      'use "pod" for the service account of each workload, or leave it out',
    );
  }
  if (source === "pod") return { roleArn: roleArn === "" ? undefined : parseRole(roleArn, variables) };
  if (roleArn === "") return undefined;
  throw parameterRefusal(
    "roleArn",
    "has no effect without authenticationSource pod",
    "set authenticationSource to pod",
  );
}

function parseRole(text: string, variables: Variables): string {
  const role = resolved("roleArn", text, variables);
  if (isRoleArn(role)) return role;
  throw parameterRefusal("roleArn", `${quoted(role)} is not the ARN of a role`, "write arn:aws:iam::ACCOUNT:role/NAME");
}
