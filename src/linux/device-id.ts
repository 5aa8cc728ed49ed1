/**
 * The device of a file system as mountinfo writes it, `major:minor`. A source and all its bind mounts have the same device, in every
 * mount namespace. A minor number alone is not unique: a block device may have that of a FUSE file system.
 */
export type DeviceId = string & { readonly __brand: "DeviceId" };

/** FUSE file systems have no block device, so their major number is 0. */
export function fuseDevice(minor: number): DeviceId {
  return `0:${minor}` as DeviceId;
}

/** The minor number, by which fusectl names connections. */
export function fuseMinor(deviceId: DeviceId): number {
  const [, minor] = /^0:(\d+)$/.exec(deviceId) ?? [];
  if (minor === undefined) throw new Error(`${deviceId} is not the device of a FUSE file system`);
  return Number(minor);
}
