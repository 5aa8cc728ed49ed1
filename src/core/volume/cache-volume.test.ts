import { expect, it } from "vitest";
import { DriverError } from "../errors.ts";
import { cacheMemoryMib, maxCacheMib, parseCacheVolume } from "./cache-volume.ts";

const disk = { kind: "emptyDir", medium: "", sizeLimit: undefined } as const;
const claim = { kind: "ephemeral", storageClassName: undefined, storageRequest: "10Gi" } as const;

it.for([
  [{}, undefined],
  [{ cache: "" }, undefined],
  [{ cache: "emptyDir" }, disk],
  [
    { cache: "emptyDir", cacheEmptyDirSizeLimit: "1Gi" },
    { ...disk, sizeLimit: "1Gi" },
  ],
  [
    { cache: "emptyDir", cacheEmptyDirSizeLimit: "1Gi", cacheEmptyDirMedium: "Memory" },
    { ...disk, medium: "Memory", sizeLimit: "1Gi" },
  ],
  [{ cache: "ephemeral", cacheEphemeralStorageResourceRequest: "10Gi" }, claim],
  [
    { cache: "ephemeral", cacheEphemeralStorageResourceRequest: "10Gi", cacheEphemeralStorageClassName: "fast.1" },
    { ...claim, storageClassName: "fast.1" },
  ],
] as const)("%j → %j", ([raw, cache]) => {
  expect(parseCacheVolume(raw)).toEqual(cache);
});

it.for([
  [{ cache: "hostPath" }, 'cache "hostPath" is not a kind of cache', 'use "emptyDir"'],
  [{ cache: "EmptyDir" }, 'cache "EmptyDir" is not a kind of cache', 'use "emptyDir"'],
  [
    { cacheEmptyDirSizeLimit: "1Gi" },
    "cacheEmptyDirSizeLimit works only with cache: emptyDir",
    'set cache to "emptyDir"',
  ],
  [
    { cache: "emptyDir", cacheEphemeralStorageClassName: "fast" },
    "cacheEphemeralStorageClassName works only with cache: ephemeral",
    'set cache to "ephemeral"',
  ],
  [
    { cache: "ephemeral", cacheEphemeralStorageResourceRequest: "1Gi", cacheEmptyDirMedium: "Memory" },
    "cacheEmptyDirMedium works only with cache: emptyDir",
    'set cache to "emptyDir"',
  ],
  [
    { cache: "emptyDir", cacheEmptyDirSizeLimit: "big" },
    'cacheEmptyDirSizeLimit "big" is not an amount',
    "write one such as 10Gi",
  ],
  [
    { cache: "emptyDir", cacheEmptyDirSizeLimit: "500m" },
    'cacheEmptyDirSizeLimit "500m" is too little',
    "give it 2Mi or more",
  ],
  [{ cache: "emptyDir", cacheEmptyDirMedium: "Disk" }, 'cacheEmptyDirMedium "Disk" is not a medium', 'use "Memory"'],
  [
    { cache: "emptyDir", cacheEmptyDirMedium: "Memory" },
    "cacheEmptyDirSizeLimit is required with cacheEmptyDirMedium Memory",
    "add one such as 1Gi",
  ],
  [
    { cache: "ephemeral" },
    "cacheEphemeralStorageResourceRequest is required with cache: ephemeral",
    "add one such as 10Gi",
  ],
  [
    { cache: "ephemeral", cacheEphemeralStorageResourceRequest: "1Gi", cacheEphemeralStorageClassName: "Not_One" },
    'cacheEphemeralStorageClassName "Not_One" is not the name of a StorageClass',
    "use lower case letters",
  ],
] as const)("refuses %j by name, with the fix", ([raw, message, fix]) => {
  let refusal: unknown;
  try {
    parseCacheVolume(raw);
  } catch (error) {
    refusal = error;
  }
  expect(refusal).toBeInstanceOf(DriverError);
  expect(refusal).toMatchObject({ kind: "invalid", message: expect.stringContaining(`volumeAttributes.${message}`) });
  expect(refusal).toHaveProperty("hint", expect.stringContaining(fix));
});

it.for([
  [disk, undefined],
  [{ ...disk, sizeLimit: "100Mi" }, 95],
  [{ ...disk, sizeLimit: "1G" }, 905],
  [{ ...disk, sizeLimit: "2Mi" }, 1],
  [claim, 9728],
] as const)("mount-s3 may fill %j up to %s MiB", ([cache, expected]) => {
  expect(maxCacheMib(cache)).toBe(expected);
});

it.for([
  [undefined, 0],
  [claim, 0],
  [{ ...disk, sizeLimit: "1Gi" }, 0],
  [{ ...disk, medium: "Memory", sizeLimit: "1Gi" }, 1024],
] as const)("%j takes %d MiB of the container's memory", ([cache, expected]) => {
  expect(cacheMemoryMib(cache)).toBe(expected);
});
