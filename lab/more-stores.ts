/** The stores that a lab may have besides its own, as `./dev up --store NAME` names them. */
import type { Lab } from "./lab.ts";
import { Problem } from "./problem.ts";
import { minioAccount, minioEndpoint, s3Region } from "./s3.ts";

const known = ["minio"] as const;
export type MoreStore = (typeof known)[number];

/** undefined: none was named. */
export function storeNamed(given: string | undefined): MoreStore | undefined {
  if (given === undefined) return undefined;
  const found = known.find((name) => name === given);
  if (found !== undefined) return found;
  throw new Problem(
    `there is no store "${given}" for a lab`,
    `use one of: ${known.join(", ")}; versitygw is in every lab`,
  );
}

/** The driver's Secret for MinIO, in the namespace of the release. */
const minioSecret = "minio-secret";

/** Chart values with which the driver knows MinIO as the store `minio`, with credentials of its own and with STS. */
export const minioValues: readonly string[] = [
  "podIdentity.enabled=true",
  `s3.stores.minio.endpointUrl=${minioEndpoint}`,
  `s3.stores.minio.region=${s3Region}`,
  `s3.stores.minio.credentialSecret.name=${minioSecret}`,
  `s3.stores.minio.sts.endpointUrl=${minioEndpoint}`,
];

export async function applyMinioSecret(signal: AbortSignal, lab: Lab, namespace: string): Promise<void> {
  const { accessKeyId, secretAccessKey } = minioAccount;
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: minioSecret, namespace },
    stringData: { access_key_id: accessKeyId, secret_access_key: secretAccessKey },
  };
  await lab.kubectl(["apply", "-f", "-"], { signal, input: JSON.stringify(secret) });
}
