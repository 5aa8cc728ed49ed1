import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { defaultStore, type StoreName } from "../core/stores/store.ts";
import type { EventRecorder } from "../kube/events.ts";
import { silentLogger } from "../runtime/log.ts";
import { keptDataReporter } from "./kept-data.ts";
import { CsiControllerMetrics } from "./metrics.ts";

it("DS-3 a DeleteVolume call that csi-provisioner repeats is one kept bucket, and one event", async () => {
  const written: string[] = [];
  const events: Pick<EventRecorder, "record"> = { record: (_, __, { reason }) => void written.push(reason) };
  const registry = new Registry();
  const report = keptDataReporter(events, new CsiControllerMetrics(registry));
  const call = { signal: new AbortController().signal, log: silentLogger };
  const volume = { name: "pv", uid: "uid" } as never;
  const kept = { store: defaultStore, prefix: undefined, reason: "notEmpty", volume } as const;
  for (const bucket of ["first", "first", "second"]) report(call, { ...kept, bucket });
  // The repetition may come when the PersistentVolume is gone.
  report(call, { ...kept, bucket: "first", volume: undefined });
  expect(written).toEqual(["BucketKept", "BucketKept"]);
  expect(await registry.metrics()).toContain('s3_csi_kept_buckets_total{because="notEmpty"} 2');
});

it("ID-4 buckets of one name at two stores are two kept buckets, and only the named store is in its event", () => {
  const messages: string[] = [];
  const events: Pick<EventRecorder, "record"> = { record: (_, __, { message }) => void messages.push(message) };
  const report = keptDataReporter(events, new CsiControllerMetrics());
  const call = { signal: new AbortController().signal, log: silentLogger };
  const kept = {
    bucket: "b",
    prefix: undefined,
    reason: "policy",
    volume: { name: "pv", uid: "uid" } as never,
  } as const;
  for (const store of [defaultStore, "minio" as StoreName]) report(call, { ...kept, store });
  expect(messages).toEqual([
    "Bucket b is kept: deletePolicy of its StorageClass is retain",
    "Bucket b on store minio is kept: deletePolicy of its StorageClass is retain",
  ]);
});
