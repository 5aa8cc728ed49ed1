import { DriverError } from "../../core/errors.ts";
import type { NodePublishVolumeRequest } from "../../csi/gen/csi.ts";
import type { NodeParts } from "../node-parts.ts";
import { failureAt } from "./failure-at.ts";
import { type PublishIntent, publishIntentFrom, publishTargetFrom, refuseFallback } from "./publish-request.ts";

type Needed = Pick<NodeParts, "config" | "mounts">;

/** Parses a request. A repeated call for a mounted volume may be invalid, too, for example because its Secret was changed. */
export function parseRequest(node: Needed, request: NodePublishVolumeRequest): PublishIntent {
  const published = publishTargetFrom(node.config.kubeletDir, request);
  try {
    const intent = publishIntentFrom(published, request);
    if (!node.config.fallbackToDriverCredentials) refuseFallback(intent, request);
    return intent;
  } catch (error) {
    throw error instanceof DriverError ? failureAt(node, published.target, error) : error;
  }
}
