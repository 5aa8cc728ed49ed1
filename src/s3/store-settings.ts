/** How programs get the stores of the installation. */

import type { Stores } from "../core/stores/store.ts";
import { type DefaultStoreSettings, storesFrom } from "../core/stores/store-list.ts";
import { json, toggle } from "../runtime/settings/kinds.ts";
import type { Settings } from "../runtime/settings/settings.ts";

type StoreList = Parameters<typeof storesFrom>[1];

function asMap(value: unknown): StoreList | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as StoreList) : undefined;
}

export const storeSettings = {
  storeList: {
    variable: "S3_STORES",
    kind: json<StoreList>("a JSON object with a member for each store", asMap),
    default: {},
  },
} as const satisfies Settings;

export const podIdentitySettings = {
  podIdentity: { flag: "pod-identity", kind: toggle, default: false },
} as const satisfies Settings;

/** Throws an Error that names every mistake by the chart value. */
export function storesOf({ endpointUrl = "", region, storeList }: StoreValues): Stores {
  return storesFrom({ endpointUrl, region } satisfies DefaultStoreSettings, storeList);
}

interface StoreValues {
  readonly endpointUrl: string | undefined;
  readonly region: string;
  readonly storeList: StoreList;
}
