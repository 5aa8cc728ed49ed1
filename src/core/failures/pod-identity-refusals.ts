/** Why a volume cannot use credentials for the service account of its workload. */

import type { DriverError } from "../errors.ts";
import { defaultStore, type StoreName } from "../stores/store.ts";
import { attributeRefusal } from "../volume/attribute-refusal.ts";

export function podIdentityIsOff(): DriverError {
  return attributeRefusal(
    "authenticationSource",
    '"pod" is not enabled in this installation',
    'use "secret" or "driver", or set the chart value podIdentity.enabled',
  );
}

export function storeWithoutSts(store: StoreName): DriverError {
  const value = store === defaultStore ? "s3.sts" : `s3.stores.${store}.sts`;
  return attributeRefusal(
    "authenticationSource",
    `"pod" needs STS, and store ${store} has none`,
    `use "secret" or "driver", or set the chart value ${value}.endpointUrl`,
  );
}
