/** PersistentVolumes and StorageClasses that could never be mounted are refused by the API server itself, with the fix. */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Manifest } from "../chart/rendered-chart.ts";
import { openCluster } from "../support/cluster.ts";
import { long } from "../support/stage.ts";
import {
  trialClass as storageClass,
  trialName,
  tried as triedBy,
  trialVolume as volume,
  volumePolicies,
  withVolumePolicies,
} from "../support/volume-policies.ts";
import {
  acceptedClasses,
  acceptedVolumes,
  losingOptions,
  questionable,
  refusedClasses,
  refusedVolumes,
  unfitPrefixes,
  unknownOptions,
} from "./early-refusal.table.ts";

const cluster = openCluster();
let policies: AsyncDisposable;

beforeAll(async () => {
  policies = await withVolumePolicies(cluster);
});

afterAll(async () => {
  await policies[Symbol.asyncDispose]();
});

it("the policies are correct for the API server", async () => {
  for (const { kind, metadata } of volumePolicies.filter((one) => one.kind === "ValidatingAdmissionPolicy")) {
    await expect
      .poll(async () => (await cluster.get<Manifest>(kind, metadata.name))?.["status"]?.typeChecking, long)
      .toEqual({});
  }
});

it.for(refusedVolumes)("PersistentVolume %j is refused: %s", async ([wish, sentence]) => {
  expect(await tried(volume(wish))).toContain(sentence);
});

it.for(refusedClasses)("StorageClass %j is refused: %s", async ([wish, sentence]) => {
  expect(await tried(storageClass(wish))).toContain(sentence);
});

it.for(acceptedVolumes)("PersistentVolume %j is accepted without a word", async (wish) => {
  expect(await tried(volume(wish))).toBe("accepted");
});

it.for(acceptedClasses)("StorageClass %j is accepted without a word", async (wish) => {
  expect(await tried(storageClass(wish))).toBe("accepted");
});

it.for(questionable)("mount option %s is accepted with a warning that names %s", async ([option, shown]) => {
  const sentence = `mountOptions: ${shown} is not supported and will be left out: remove it`;
  for (const object of [volume({ mountOptions: [option] }), storageClass({ mountOptions: [option] })]) {
    const answer = await tried(object);
    expect(answer).toContain("Warning");
    expect(answer).toContain(sentence);
    expect(answer).toContain("accepted");
  }
});

it.for(losingOptions)("ID-5 mount option %s is accepted with a warning that it loses empty files", async (option) => {
  for (const object of [volume({ mountOptions: [option] }), storageClass({ mountOptions: [option] })]) {
    const answer = await tried(object);
    expect(answer).toContain("Warning");
    expect(answer).toContain("with upload-checksums=off mount-s3 loses empty files");
    expect(answer).toContain("accepted");
  }
});

it.for(unknownOptions)("mount option %s is accepted with a warning: %s", async ([option, sentence]) => {
  for (const object of [volume({ mountOptions: [option] }), storageClass({ mountOptions: [option] })]) {
    const answer = await tried(object);
    expect(answer).toContain("Warning");
    expect(answer).toContain(`ountOptions: ${sentence}`);
    expect(answer).toContain("accepted");
  }
});

it.for(unfitPrefixes)("bucketNamePrefix %s is accepted with a warning that it will be adapted", async (prefix) => {
  const answer = await tried(storageClass({ parameters: { bucketNamePrefix: prefix } }));
  expect(answer).toContain(
    "parameters.bucketNamePrefix has characters or a length that S3 does not allow in bucket names",
  );
  expect(answer).toContain("accepted");
});

it("what exists already can be changed, whatever it says", async ({ onTestFinished }) => {
  const old = volume({ mountOptions: ["allow-delete"] });
  await cluster.apply(old);
  onTestFinished(async () => void (await cluster.kubectl("delete", "pv", trialName)));
  const patch = JSON.stringify({ spec: { mountOptions: ["uid=nobody"] } });
  expect(await cluster.kubectl("patch", "pv", trialName, "--type=merge", "-p", patch)).toContain("patched");
});

it("volumes and classes of other drivers are left alone", async () => {
  expect(await tried(volume({ driver: "other.example.com", attributes: { bucketName: "" } }))).toBe("accepted");
  expect(await tried(storageClass({ provisioner: "other.example.com", mountOptions: ["uid=x"] }))).toBe("accepted");
});

/** What kubectl says when the object is created on trial. */
function tried(object: object): Promise<string> {
  return triedBy(cluster, JSON.stringify(object));
}
