/** PersistentVolumes that a CSI controller service knows of. */
import { randomUUID } from "node:crypto";
import { status } from "@grpc/grpc-js";
import { expect } from "vitest";
import { locationFor } from "../../src/csi-controller/domain/bucket-location.ts";
import { patient } from "./claims.ts";
import { type Cluster, persistentVolumeManifest } from "./cluster.ts";
import { createRequest } from "./create-request.ts";
import type { CsiControllerProcess } from "./csi-controller-process.ts";

export interface VolumeWithHandle {
  readonly name: string;
  readonly volumeHandle: string;
  readonly attributes: Readonly<Record<string, string>> & { readonly bucketName: string };
}

/**
 * Makes the volumes, and returns when the service has observed them. Its watch delivers in order, and it says that the
 * last one exists, whose bucket does not, as soon as it knows the PersistentVolume.
 */
export async function volumesKnownTo(
  cluster: Cluster,
  { controller }: CsiControllerProcess,
  ...volumes: readonly VolumeWithHandle[]
): Promise<AsyncDisposable> {
  const name = `pvc-${randomUUID()}`;
  const { volumeId, bucket } = locationFor(name, { kind: "own" });
  const last = { name, volumeHandle: volumeId, attributes: { bucketName: bucket } };
  const all = [...volumes, last];
  await cluster.apply(...all.map(manifestOf));
  const { volumeCapabilities } = createRequest();
  const rest = { volumeContext: {}, parameters: {}, secrets: {}, mutableParameters: {} };
  const code = () =>
    controller.validateVolumeCapabilities({ volumeId, volumeCapabilities, ...rest }).then(
      () => status.OK,
      (error: { code: status }) => error.code,
    );
  await expect.poll(code, patient).toBe(status.OK);
  return {
    [Symbol.asyncDispose]: async () => void (await cluster.kubectl("delete", "pv", ...all.map((each) => each.name))),
  };
}

function manifestOf({ name, volumeHandle, attributes }: VolumeWithHandle) {
  const { bucketName } = attributes;
  return persistentVolumeManifest({ namespace: "default", name }, bucketName, { attributes, csi: { volumeHandle } });
}
