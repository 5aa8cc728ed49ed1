/** The chart's policies about PersistentVolumes and StorageClasses, and objects on trial before them. */
import { randomBytes } from "node:crypto";
import { vi } from "vitest";
import { type Manifest, render } from "../chart/rendered-chart.ts";
import type { ClassWish, VolumeWish } from "../cluster/early-refusal.table.ts";
import type { Cluster } from "./cluster.ts";
import { long } from "./stage.ts";

/** Of every object on trial. */
export const trialName = `t-${randomBytes(4).toString("hex")}`;

/** Those of an installation as it comes. Nothing else of the chart runs. */
export const volumePolicies = volumePoliciesWith({});

/** Those of an installation with other values. */
export function volumePoliciesWith(values: Readonly<Record<string, string>>): readonly Manifest[] {
  return render(values).filter(
    ({ kind, metadata }) =>
      kind.startsWith("ValidatingAdmissionPolicy") && /^s3-csi-(volumes|storage-classes)/.test(metadata.name),
  );
}

/** In force until the end of the scope. */
export async function withVolumePolicies(cluster: Cluster, policies = volumePolicies): Promise<AsyncDisposable> {
  await cluster.apply(...policies);
  // The API server takes up policies in its own time.
  const stripped = { mountOptions: ["profile=x"] };
  await untilSaid(cluster, trialVolume({ attributes: { bucketName: "" } }), "bucketName");
  await untilSaid(cluster, trialClass({ mountOptions: ["uid=x"] }), "uid");
  await untilSaid(cluster, trialVolume(stripped), "Warning");
  await untilSaid(cluster, trialClass(stripped), "Warning");
  return {
    [Symbol.asyncDispose]: async () => {
      for (const { kind, metadata } of policies)
        await cluster.kubectl("delete", kind, metadata.name, "--ignore-not-found");
    },
  };
}

export function trialVolume({ attributes, mountOptions = [], spec = {}, driver = "s3.csi.scality.com" }: VolumeWish) {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: trialName },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteMany"],
      persistentVolumeReclaimPolicy: "Retain",
      mountOptions,
      csi: { driver, volumeHandle: trialName, volumeAttributes: { bucketName: "data", ...attributes } },
      ...spec,
    },
  };
}

export function trialClass({ provisioner = "s3.csi.scality.com", ...wish }: ClassWish) {
  return { apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name: trialName }, provisioner, ...wish };
}

/** What kubectl says when the objects are created on trial. Unknown fields are errors. */
export async function tried(cluster: Cluster, manifests: string): Promise<string> {
  const argv = ["create", "--dry-run=server", "--validate=strict", "-o", "name", "-f", "-"];
  const { code, stderr } = await cluster.lab.tryKubectl(argv, {
    signal: AbortSignal.timeout(60_000),
    input: manifests,
  });
  return `${stderr}${code === 0 ? "accepted" : ""}`;
}

async function untilSaid(cluster: Cluster, object: object, word: string): Promise<void> {
  await vi.waitFor(async () => {
    if (!(await tried(cluster, JSON.stringify(object))).includes(word)) throw new Error(`no policy says ${word} yet`);
  }, long);
}
