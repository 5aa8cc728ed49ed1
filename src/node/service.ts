/** The CSI node service: each method parses its request, calls the implementation and builds the response. */
import { NodeServiceCapability_RPC_Type as Capability, NodeService } from "../csi/gen/csi.ts";
import { type Service, service } from "../csi/service.ts";
import type { NodeParts } from "./node-parts.ts";
import { parseRequest } from "./publish/parse-request.ts";
import { publish } from "./publish/publish.ts";
import { unpublish } from "./publish/unpublish.ts";
import { volumeStats } from "./publish/volume-stats.ts";

export function nodeService(node: NodeParts): Service {
  return service(NodeService, {
    nodePublishVolume: async (call, request) => {
      await publish(call, node, parseRequest(node, request));
      return {};
    },
    nodeUnpublishVolume: async (call, request) => {
      unpublish(call, node, request);
      return {};
    },
    nodeGetVolumeStats: (call, request) => volumeStats(call, node, request),
    nodeGetCapabilities: async () => ({ capabilities: capabilities.map(capability) }),
    // No topology: a bucket is reachable from every node. maxVolumesPerNode 0 means no limit.
    nodeGetInfo: async () => ({ nodeId: node.config.nodeId, maxVolumesPerNode: 0n }),
  });
}

const capabilities = [
  // With this capability kubelet sends the workload's fsGroup instead of changing the owner of every file (MP-1).
  Capability.VOLUME_MOUNT_GROUP,
  Capability.GET_VOLUME_STATS,
  Capability.VOLUME_CONDITION,
];

function capability(type: Capability) {
  return { type: { $case: "rpc", value: { type } } } as const;
}
