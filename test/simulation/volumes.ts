/** The PersistentVolumes and claims of the simulated cluster, and how operators change them. */
import { driverName, type PodUid, type PvName, type VolumeId } from "../../src/core/names.ts";
import { kinds, type PersistentVolume, type Pod } from "../../src/kube/kinds.ts";
import type { ApiServer } from "./api-server.ts";
import { mergedPatch } from "./merged-patch.ts";
import type { Volume } from "./node-plugin.ts";
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

/** What kubelet sends to the node plugin; undefined while the claim of the Pod is not bound, or its PersistentVolume does not exist. */
export function volumeOf(server: ApiServer, pod: Pod): Volume | undefined {
  const { metadata, spec } = pod;
  const volume = volumeObjectOf(server, pod);
  if (volume?.spec.csi === undefined) return undefined;
  const { volumeHandle, volumeAttributes = {}, nodePublishSecretRef } = volume.spec.csi;
  return {
    workload: metadata.uid as PodUid,
    persistentVolume: volume.metadata.name as PvName,
    volumeId: volumeHandle as VolumeId,
    attributes: volumeAttributes,
    mountOptions: volume.spec.mountOptions ?? [],
    fsGroup: String(spec.securityContext?.fsGroup ?? ""),
    hasSecret: nodePublishSecretRef !== undefined,
  };
}

/** undefined: the claim of the Pod is not bound, or its PersistentVolume does not exist. */
export function volumeObjectOf(server: ApiServer, { spec: { volumes = [] } }: Pod): PersistentVolume | undefined {
  const name = volumes[0]?.persistentVolumeClaim?.claimName ?? "";
  const claim = server.get(kinds.persistentVolumeClaims, { name, namespace: "shop" });
  if (claim?.status?.phase !== "Bound") return undefined;
  return server.get(kinds.persistentVolumes, { name: claim.spec.volumeName ?? "" });
}

function specOf(index: number, state: Exclude<VolumeState, "gone">): object {
  const isInvalid = state === "invalid";
  const hasSecret = state === "withOtherSecret";
  return {
    claimRef: { namespace: "shop", name: `claim-${index}` },
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
