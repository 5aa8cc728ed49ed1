import type { NodeConfig } from "./config.ts";

/** The whole environment of mount-s3: nothing is inherited, and no key is in it. */
export function mountEnvironment(
  s3: NodeConfig["s3"],
  fromOptions: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return {
    ...fromOptions,
    AWS_ENDPOINT_URL: s3.endpointUrl,
    AWS_REGION: s3.region,
    // Outside AWS each start would wait for a service that is not there (MP-15).
    AWS_EC2_METADATA_DISABLED: "true",
  };
}
