/** The PersistentVolumes and claims of the simulated cluster, and what operators make of them. */
import { driverName } from "../../src/core/names.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { ApiServer } from "./api-server.ts";
import { mergedPatch } from "./merged-patch.ts";
import type { VolumeState } from "./plan.ts";

export const volumeCount = 2;

/** Each with its claim, bound to each other. */
export function createVolumes(server: ApiServer): void {
  for (let index = 0; index < volumeCount; index += 1) {
    putVolume(server, index, "usual");
    const metadata = { name: `claim-${index}`, namespace: "shop" };
    const claim = { metadata, spec: { volumeName: `pv-${index}` }, status: { phase: "Bound" } };
    server.create(kinds.persistentVolumeClaims, claim);
  }
}

export function putVolume(server: ApiServer, index: number, state: VolumeState): void {
  const ref = { name: `pv-${index}` };
  if (state === "gone") return server.remove(kinds.persistentVolumes, ref);
  const change = { spec: specOf(index, state) };
  if (server.get(kinds.persistentVolumes, ref) !== undefined) server.patch(kinds.persistentVolumes, ref, change);
  else server.create(kinds.persistentVolumes, mergedPatch({ metadata: ref }, change) as { metadata: typeof ref });
}

export function putClaim(server: ApiServer, index: number, phase: "Bound" | "Pending"): void {
  server.patch(kinds.persistentVolumeClaims, { name: `claim-${index}`, namespace: "shop" }, { status: { phase } });
}

function specOf(index: number, state: Exclude<VolumeState, "gone">): object {
  const isInvalid = state === "invalid";
  const hasSecret = state === "withOtherSecret";
  return {
    mountOptions: state === "withOtherOptions" ? ["allow-delete"] : [],
    csi: {
      driver: driverName,
      volumeHandle: `handle-${index}`,
      // null removes a field that another state had.
      volumeAttributes: { bucketName: isInvalid ? null : "b", authenticationSource: hasSecret ? "secret" : null },
      nodePublishSecretRef: hasSecret ? { name: "credentials", namespace: "shop" } : null,
    },
  };
}
