import { expect, it } from "vitest";
import { driverAccess } from "../../../test/support/fake-credentials.ts";
import type { PodUid, PvName, VolumeId } from "../../core/names.ts";
import type { MountRecord } from "../records/mount-records.ts";
import { differenceOf } from "./same-data.ts";

const record: MountRecord = {
  persistentVolume: "pv" as PvName,
  volumeId: "v" as VolumeId,
  workload: "w" as PodUid,
  pidNamespace: "private",
  request: { bucketName: "b", args: ["--prefix=a/", "--metadata-ttl=60"], env: {} },
  access: driverAccess,
};
const withArgs = (...args: readonly string[]) => ({ ...record, request: { ...record.request, args } });

it.for([
  ["the same", record, undefined],
  ["another option of caching", withArgs("--prefix=a/", "--metadata-ttl=1"), undefined],
  ["another prefix", withArgs("--prefix=b/"), "they have different values of --prefix"],
  ["no prefix", withArgs(), "they have different values of --prefix"],
  ["another group", withArgs("--prefix=a/", "--gid=7"), "they have different values of --gid"],
  ["another bucket", { ...record, request: { ...record.request, bucketName: "c" } }, "they have different buckets"],
  ["another volume", { ...record, persistentVolume: "other" as PvName }, "they belong to different PersistentVolumes"],
  ["no record", undefined, "the options of one of the mounts are not recorded"],
] as const)("compares with %s", ([, to, difference]) => {
  expect(differenceOf(record, to)).toBe(difference);
  expect(differenceOf(to, record)).toBe(difference);
});
