/** PersistentVolumes and StorageClasses that could never be mounted are refused by the API server itself, with the fix. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type Manifest, render } from "../chart/rendered-chart.ts";
import { openCluster } from "../support/cluster.ts";
import { long } from "../support/stage.ts";
import {
  acceptedClasses,
  acceptedVolumes,
  type ClassWish,
  questionable,
  refusedClasses,
  refusedVolumes,
  type VolumeWish,
} from "./early-refusal.table.ts";

const cluster = openCluster();
const name = `t-${randomBytes(4).toString("hex")}`;

/** Only the policies; nothing of the chart runs. */
const policies = render().filter(
  ({ kind, metadata }) => kind.startsWith("ValidatingAdmissionPolicy") && !metadata.name.includes("node"),
);

beforeAll(async () => {
  await cluster.apply(...policies);
  // The API server takes up policies in its own time.
  const stripped = { mountOptions: ["profile=x"] };
  await untilSaid(volume({ attributes: { bucketName: "" } }), "bucketName");
  await untilSaid(storageClass({ mountOptions: ["uid=x"] }), "uid");
  await untilSaid(volume(stripped), "Warning");
  await untilSaid(storageClass(stripped), "Warning");
});

afterAll(async () => {
  for (const { kind, metadata } of policies) await cluster.kubectl("delete", kind, metadata.name, "--ignore-not-found");
});

it("the policies are correct for the API server", async () => {
  for (const { kind, metadata } of policies.filter((one) => one.kind === "ValidatingAdmissionPolicy")) {
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
  const sentence = `mountOptions: ${shown} cannot be used here and will be left out: remove it`;
  for (const object of [volume({ mountOptions: [option] }), storageClass({ mountOptions: [option] })]) {
    const answer = await tried(object);
    expect(answer).toContain("Warning");
    expect(answer).toContain(sentence);
    expect(answer).toContain("accepted");
  }
});

it("what exists already can be changed, whatever it says", async ({ onTestFinished }) => {
  const old = volume({ mountOptions: ["allow-delete"] });
  await cluster.apply(old);
  onTestFinished(async () => void (await cluster.kubectl("delete", "pv", name)));
  const patch = JSON.stringify({ spec: { mountOptions: ["uid=nobody"] } });
  expect(await cluster.kubectl("patch", "pv", name, "--type=merge", "-p", patch)).toContain("patched");
});

it("volumes and classes of other drivers are left alone", async () => {
  expect(await tried(volume({ driver: "other.example.com", attributes: { bucketName: "" } }))).toBe("accepted");
  expect(await tried(storageClass({ provisioner: "other.example.com", mountOptions: ["uid=x"] }))).toBe("accepted");
});

function volume({ attributes, mountOptions = [], spec = {}, driver = "s3.csi.scality.com" }: VolumeWish): object {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteMany"],
      persistentVolumeReclaimPolicy: "Retain",
      mountOptions,
      csi: { driver, volumeHandle: name, volumeAttributes: { bucketName: "data", ...attributes } },
      ...spec,
    },
  };
}

function storageClass({ provisioner = "s3.csi.scality.com", ...wish }: ClassWish): object {
  return { apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name }, provisioner, ...wish };
}

async function untilSaid(object: object, word: string): Promise<void> {
  await vi.waitFor(async () => {
    if (!(await tried(object)).includes(word)) throw new Error(`no policy says ${word} yet`);
  }, long);
}

/** What kubectl says when the object is created on trial. */
async function tried(object: object): Promise<string> {
  const argv = ["create", "--dry-run=server", "-o", "name", "-f", "-"];
  const options = { signal: AbortSignal.timeout(60_000), input: JSON.stringify(object) };
  const { code, stdout, stderr } = await cluster.lab.tryKubectl(argv, options);
  return `${stderr}${code === 0 && stdout.includes(name) ? "accepted" : ""}`;
}
