import type { NodeConfig } from "../config.ts";

/** The complete environment of mount-s3: mount-s3 inherits nothing, and the environment contains no credentials. */
export function mountEnvironment(
  { s3, proxy }: Pick<NodeConfig, "s3" | "proxy">,
  fromVolume: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const variables = Object.entries({ ...proxy, ...fromVolume }).filter(([, value]) => value !== "");
  return {
    ...Object.fromEntries(variables),
    AWS_ENDPOINT_URL: s3.endpointUrl,
    AWS_REGION: s3.region,
    // Outside AWS there is no instance metadata service, and each start would wait for its timeout (MP-15).
    AWS_EC2_METADATA_DISABLED: "true",
  };
}
