import type { MountRecord } from "../records/mount-records.ts";

/**
 * LC-24. Why a path would mean something else on the other mount; undefined: both show the same data. Other arguments, such as sizes of
 * caches and parts, may differ.
 */
export function differenceOf(from: MountRecord | undefined, to: MountRecord | undefined): string | undefined {
  if (from === undefined || to === undefined) return "the options of one of the mounts are not recorded";
  if (from.persistentVolume !== to.persistentVolume) return "they belong to different PersistentVolumes";
  if (from.request.bucketName !== to.request.bucketName) return "they have different buckets";
  const differing = meaningful.find((option) => valueOf(from, option) !== valueOf(to, option));
  return differing && `they have different values of ${differing}`;
}

/** The arguments that decide what a path leads to, and whose it is. */
const meaningful = ["--prefix", "--uid", "--gid", "--dir-mode", "--file-mode", "--endpoint-url"];

function valueOf({ request: { args } }: MountRecord, option: string): string | undefined {
  return args.find((arg) => arg === option || arg.startsWith(`${option}=`));
}
