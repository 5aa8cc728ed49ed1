/** The CSI node service: each method parses its request, calls the implementation and builds the response. */
import { NodeServiceCapability_RPC_Type as Capability, NodeService } from "../csi/gen/csi.ts";
import { type Service, service } from "../csi/service.ts";
import { parseRequest } from "./publish/parse-request.ts";
import { publish } from "./publish/publish.ts";
import type { PublishRoom } from "./publish/publish-room.ts";
import { unpublish } from "./publish/unpublish.ts";
import { volumeStats } from "./publish/volume-stats.ts";

export function nodeService(room: PublishRoom): Service {
  return service(NodeService, {
    nodePublishVolume: async (call, request) => {
      await publish(call, room, parseRequest(room, request));
      return {};
    },
    nodeUnpublishVolume: async (call, request) => {
      unpublish(call, room, request);
      return {};
    },
    nodeGetVolumeStats: (call, request) => volumeStats(call, room, request),
    nodeGetCapabilities: async () => ({ capabilities: capabilities.map(capability) }),
    // No topology: a bucket is reachable from every node. maxVolumesPerNode 0 means no limit.
    nodeGetInfo: async () => ({ nodeId: room.settings.nodeId, maxVolumesPerNode: 0n }),
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
