import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type PersistentVolume, s3VolumeFrom } from "../../src/reconciler/domain/persistent-volume.ts";
import { type WorkloadPod, workloadFrom } from "../../src/reconciler/domain/workload.ts";
import { manifestsIn, only, repository } from "./rendered-chart.ts";

it("examples/static is a volume of ours, a claim for it and a Pod that uses the claim", () => {
  const manifests = manifestsIn(readFileSync(join(repository, "examples/static/static.yaml"), "utf8"));
  const pv = only(manifests, "PersistentVolume");
  const claim = only(manifests, "PersistentVolumeClaim");
  const volume = s3VolumeFrom(pv as unknown as PersistentVolume);
  expect(volume?.attributes.bucket).toBe("my-bucket");
  expect(claim["spec"]).toMatchObject({ volumeName: pv.metadata.name, storageClassName: "" });
  expect(pv["spec"].claimRef).toEqual({ name: claim.metadata.name, namespace: claim.metadata.namespace });
  const workload = workloadFrom(only(manifests, "Pod") as unknown as WorkloadPod);
  expect(workload.claims).toEqual([claim.metadata.name]);
  expect(workload.namespace).toBe(claim.metadata.namespace);
});
