/** Every string that the programs, the chart, the documentation and 2.x share. */
import { createHash } from "node:crypto";

export const driverName = "s3.csi.scality.com";

export type PodUid = string & { readonly __brand: "PodUid" };
export type PodName = string & { readonly __brand: "PodName" };
export type NodeName = string & { readonly __brand: "NodeName" };
/** The name of a PersistentVolume object; 2.x calls it "volume name". */
export type PvName = string & { readonly __brand: "PvName" };
/** The CSI volume handle. */
export type VolumeId = string & { readonly __brand: "VolumeId" };

export const labels = {
  mountpointVersion: `${driverName}/mountpoint-version`,
  podUid: `${driverName}/pod-uid`,
  volumeName: `${driverName}/volume-name`,
  driverVersion: `${driverName}/mounted-by-csi-driver-version`,
} as const;

export const annotations = {
  needsUnmount: `${driverName}/needs-unmount`,
  noNewWorkload: `${driverName}/no-new-workload`,
  volumeName: `${driverName}/volume-name`,
  volumeId: `${driverName}/volume-id`,
  identity: `${driverName}/authentication-source`,
} as const;

/** Device of our FUSE mounts in mountinfo. */
export const mountDevice = "mountpoint-s3";

/** Files in the memory volume that node plugin and Mountpoint Pod share. */
export const comm = {
  volume: "comm",
  containerPath: "/comm",
  socket: "mount.sock",
  error: "mount.err",
  exit: "mount.exit",
  credentials: "credentials",
} as const;

export const mountpointContainer = "mountpoint";

/**
 * The same workload and volume always give the same name, so creation can be repeated after a crash.
 * `generation` counts successors of a Mountpoint Pod that died; 0 is the name that 2.x computes, too.
 */
export function mountpointPodName(workload: PodUid, pv: PvName, generation = 0): PodName {
  const suffix = generation === 0 ? "" : `/${generation}`;
  const digest = createHash("sha224").update(`${workload}${pv}${suffix}`).digest("hex");
  return `mp-${digest}` as PodName;
}
