/** The credentials of a call: those that csi-provisioner sends with it, else the driver's. */
import { DriverError } from "../../core/errors.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { kinds } from "../../kube/kinds.ts";
import { secretData } from "../../kube/secret-data.ts";
import type { Call } from "../../runtime/call.ts";
import { type Credentials, credentialsFrom, volumeCredentialFields } from "../../s3/credentials.ts";
import type { DriverCredentialsConfig } from "../../s3/driver-credentials.ts";
import type { Access } from "../../s3/object-store.ts";
import type { Buckets, OpenBuckets, Secrets } from "../buckets.ts";
import type { CsiControllerConfig } from "../config.ts";

/** Region by precedence: StorageClass or volume, Secret, driver. */
export function bucketsOf(
  store: { as(access: Access): Buckets },
  client: Pick<KubeClient, "get">,
  { driverCredentials, s3 }: Pick<CsiControllerConfig, "driverCredentials" | "s3">,
): OpenBuckets {
  return async (call, secrets, region) =>
    store.as({
      credentials: hasCredentials(secrets)
        ? credentialsFrom("the provisioner Secret", secrets, volumeCredentialFields)
        : await readDriverCredentials(call, client, driverCredentials),
      ...regionFrom(region, secrets["region"]?.trim(), s3.region),
    });
}

function regionFrom(ofClass: string | undefined, ofSecret: string | undefined, ofDriver: string) {
  if (ofClass !== undefined) return { region: ofClass, regionAskedBy: "parameters.region" };
  if (ofSecret) return { region: ofSecret, regionAskedBy: "region in the provisioner Secret" };
  return { region: ofDriver, regionAskedBy: undefined };
}

/** csi-provisioner sends empty secrets if the StorageClass names no Secret, and if the Secret has no fields. */
export function hasCredentials(secrets: Secrets): boolean {
  return Object.keys(secrets).length > 0;
}

/** Reads the Secret for every call: calls are rare, and the credentials may have been rotated. */
async function readDriverCredentials(
  call: Call,
  client: Pick<KubeClient, "get">,
  config: DriverCredentialsConfig,
): Promise<Credentials> {
  if (config.from === "environment") return config.credentials ?? refuse("AWS_ACCESS_KEY_ID is not set");
  const { namespace, name, fields } = config;
  const origin = `Secret ${namespace}/${name}`;
  const secret = await client.get(call, kinds.secrets, { namespace, name });
  if (secret === undefined) return refuse(`${origin} does not exist`);
  return credentialsFrom(origin, secretData(secret), fields);
}

function refuse(problem: string): never {
  throw new DriverError("invalid", `the driver has no credentials: ${problem}`, {
    hint: "Name a Secret in the StorageClass (csi.storage.k8s.io/provisioner-secret-name and -namespace), or create the driver's Secret.",
  });
}
