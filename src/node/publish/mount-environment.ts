import type { Store } from "../../core/stores/store.ts";
import type { NodeConfig } from "../config.ts";
import { storeVariables } from "../source/store-variables.ts";

/** The complete environment of mount-s3: mount-s3 inherits nothing, and the environment contains no credentials. */
export function mountEnvironment(
  { proxy }: Pick<NodeConfig, "proxy">,
  store: Store,
  fromVolume: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const variables = Object.entries({ ...proxy, ...fromVolume }).filter(([, value]) => value !== "");
  return {
    ...Object.fromEntries(variables),
    ...storeVariables(store),
    // Outside AWS there is no instance metadata service, and each start would wait for its timeout (MP-15).
    AWS_EC2_METADATA_DISABLED: "true",
  };
}
