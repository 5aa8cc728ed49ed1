import type { Store } from "../../core/stores/store.ts";
import { caBundleVariables } from "../credentials/ca-bundle.ts";

export const endpointVariable = "AWS_ENDPOINT_URL";

/** The part of the environment of mount-s3 that leads to a store (ID-4). */
export function storeVariables(store: Store): Readonly<Record<string, string>> {
  return { [endpointVariable]: store.endpointUrl, AWS_REGION: store.region, ...caBundleVariables(store) };
}
