/** Whose keys a call uses: those that came with it, else those of the driver. */
import { DriverError } from "../../core/errors.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { kinds } from "../../kube/kinds.ts";
import { secretData } from "../../kube/secret-data.ts";
import type { Call } from "../../runtime/call.ts";
import { type Credentials, credentialsFrom, volumeCredentialFields } from "../../s3/credentials.ts";
import type { DriverCredentialsConfig } from "../../s3/driver-credentials.ts";
import type { Access } from "../../s3/object-store.ts";
import type { CsiControllerConfig } from "../config.ts";

export type Secrets = Readonly<Record<string, string>>;

export type AccessFor = (call: Call, secrets: Secrets, region: string | undefined) => Promise<Access>;

/** A region that the class names beats that of its Secret, and that the driver's. */
export function accessFor(
  client: Pick<KubeClient, "get">,
  { driverCredentials, s3 }: Pick<CsiControllerConfig, "driverCredentials" | "s3">,
): AccessFor {
  return async (call, secrets, region) => ({
    credentials: bringsKeys(secrets)
      ? credentialsFrom("the provisioner Secret", secrets, volumeCredentialFields)
      : await keysOfDriver(call, client, driverCredentials),
    ...regionFrom(region, secrets["region"]?.trim(), s3.region),
  });
}

function regionFrom(ofClass: string | undefined, ofSecret: string | undefined, ofDriver: string) {
  if (ofClass !== undefined) return { region: ofClass, regionAskedBy: "parameters.region" };
  if (ofSecret) return { region: ofSecret, regionAskedBy: "region in the provisioner Secret" };
  return { region: ofDriver, regionAskedBy: undefined };
}

export function bringsKeys(secrets: Secrets): boolean {
  return Object.keys(secrets).length > 0;
}

/** Read anew each time: a call is rare, and a key may have been replaced a moment ago. */
async function keysOfDriver(
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

function refuse(because: string): never {
  throw new DriverError("invalid", `the driver has no keys of its own: ${because}`, {
    hint: "Name a Secret in the StorageClass (csi.storage.k8s.io/provisioner-secret-name and -namespace), or make that of the driver.",
  });
}
