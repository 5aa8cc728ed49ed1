import { DriverError } from "../../core/errors.ts";
import type { NodePublishVolumeRequest } from "../../csi/gen/csi.ts";
import type { NodeMounts } from "../mounts/node-mounts.ts";
import { failureAt } from "./failure-at.ts";
import { type PublishIntent, publishIntentFrom, publishTargetFrom, refuseFallback } from "./publish-request.ts";
import type { Installation } from "./requested-access.ts";

interface Needed {
  readonly mounts: NodeMounts;
  readonly settings: Installation & { readonly fallbackToDriverCredentials: boolean };
}

/** Parses a request. A repeated call for a mounted volume may be invalid, too, for example because its Secret was changed. */
export function parseRequest({ mounts, settings }: Needed, request: NodePublishVolumeRequest): PublishIntent {
  const published = publishTargetFrom(mounts.kubeletDir, request);
  try {
    const intent = publishIntentFrom(settings, published, request);
    if (!settings.fallbackToDriverCredentials) refuseFallback(intent, request);
    return intent;
  } catch (error) {
    throw error instanceof DriverError ? failureAt(mounts, published.target, error) : error;
  }
}
