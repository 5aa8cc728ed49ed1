import { DriverError } from "../../core/errors.ts";
import type { NodePublishVolumeRequest } from "../../csi/gen/csi.ts";
import type { NodeParts } from "../node-parts.ts";
import { failureAt } from "./failure-at.ts";
import { type PublishIntent, publishIntentFrom, publishTargetFrom, refuseFallback } from "./publish-request.ts";

type Needed = Pick<NodeParts, "config" | "mounts">;

/** What kubelet asks for. A Secret that was changed for the worse may come with a call for a volume that is in use. */
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
