import type { NodeConfig } from "../config.ts";

/** The whole environment of mount-s3: nothing is inherited, and no key is in it. */
export function mountEnvironment(
  { s3, proxy }: Pick<NodeConfig, "s3" | "proxy">,
  fromVolume: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const way = Object.entries({ ...proxy, ...fromVolume }).filter(([, value]) => value !== "");
  return {
    ...Object.fromEntries(way),
    AWS_ENDPOINT_URL: s3.endpointUrl,
    AWS_REGION: s3.region,
    // Outside AWS each start would wait for a service that is not there (MP-15).
    AWS_EC2_METADATA_DISABLED: "true",
  };
}
