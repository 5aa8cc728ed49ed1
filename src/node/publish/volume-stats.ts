/** NodeGetVolumeStats: reports whether mount-s3 answers, within a limit. */
import { normalize } from "node:path/posix";
import { DriverError } from "../../core/errors.ts";
import { type NodeGetVolumeStatsResponse, VolumeUsage_Unit } from "../../csi/gen/csi.ts";
import type { Health } from "../../linux/fuse/probe.ts";
import type { Mount } from "../../linux/mounts/mountinfo.ts";
import type { Call } from "../../runtime/call.ts";
import type { MountpointPods } from "../cluster/mountpoint-pods.ts";
import type { NodeMounts } from "../mounts/node-mounts.ts";

export interface StatsRequest {
  readonly volumeId: string;
  readonly volumePath: string;
}

interface Needed {
  readonly mounts: NodeMounts;
  readonly cluster: { readonly mountpointPods: MountpointPods };
}

/** The call returns within two seconds (PR-4). mount-s3 answers within a millisecond, even while S3 is slow. */
const probeLimitMs = 1000;

/**
 * A bucket has no size, and statfs of mount-s3 returns constants, so there is no usage to report. kubelet, however, drops a
 * response without usage, and all metrics of the volume with it, unless its feature gate CSIVolumeHealth is enabled
 * (`NodeGetVolumeStats` in csi_client.go). Zeros raise no alarm: the usual rules require used bytes above zero.
 */
const nothingToMeasure = { unit: VolumeUsage_Unit.BYTES, total: 0n, used: 0n, available: 0n };

export async function volumeStats(
  call: Call,
  room: Needed,
  { volumeId, volumePath }: StatsRequest,
): Promise<NodeGetVolumeStatsResponse> {
  if (volumeId === "") throw new DriverError("invalid", "volume_id is required");
  if (volumePath === "") throw new DriverError("invalid", "volume_path is required");
  const notPublished = () => new DriverError("missing", `volume ${volumeId} is not published at ${volumePath}`);
  const path = normalize(volumePath);
  // kubelet may ask as soon as a volume is published.
  const mount = room.mounts.recentTable().oursAt(path) ?? room.mounts.table().oursAt(path);
  if (mount === undefined) throw notPublished();
  const health = await room.mounts.kernel.probe(call, mount.mountPoint, probeLimitMs);
  // The volume was unpublished during the probe.
  if (health === "absent") throw notPublished();
  const { abnormal, because } = conditionOf(health);
  return {
    usage: [nothingToMeasure],
    volumeCondition: { abnormal, message: abnormal ? `${because}. ${hintAbout(room, mount)}` : because },
  };
}

interface Condition {
  readonly abnormal: boolean;
  readonly because: string;
}

function conditionOf(health: Exclude<Health, "absent">): Condition {
  switch (health) {
    case "serving":
      return { abnormal: false, because: "mount-s3 answers" };
    case "dead":
      return {
        abnormal: true,
        because: "mount-s3 has ended: files give ENOTCONN (Transport endpoint is not connected)",
      };
    case "hung":
      return { abnormal: true, because: "mount-s3 does not answer: accesses to the volume block" };
    default:
      return health satisfies never;
  }
}

/** A mount of 1.x has no Mountpoint Pod: systemd runs its mount-s3 on the host. */
function hintAbout({ mounts, cluster }: Needed, mount: Mount): string {
  const name = mounts.recentTable().podBehind(mount);
  return name === undefined ? "No Mountpoint Pod serves it" : cluster.mountpointPods.logsCommand(name);
}
