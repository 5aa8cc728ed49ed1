import { DriverError } from "../../core/errors.ts";
import type { PodUid, PvName, VolumeId } from "../../core/names.ts";
import type { Store } from "../../core/stores/store.ts";
import { parseVolumeAttributes, type VolumeAttributes } from "../../core/volume/volume-attributes.ts";
import { VolumeCapability_AccessMode_Mode as Mode, type NodePublishVolumeRequest } from "../../csi/gen/csi.ts";
import type { Secret } from "../../runtime/secret.ts";
import type { Access } from "../credentials/access.ts";
import { parseTargetPath, targetPath } from "../domain/target-path.ts";
import { withoutTokens } from "../sessions/service-account-tokens.ts";
import { type Installation, requestedAccess } from "./requested-access.ts";

/** A volume, its target path and its workload. */
interface PublishTarget {
  readonly volumeId: VolumeId;
  /** Normalized as in mountinfo. */
  readonly target: string;
  readonly workload: PodUid;
  readonly persistentVolume: PvName;
}

/** A NodePublishVolumeRequest, parsed. */
export interface PublishIntent extends PublishTarget {
  /** undefined if kubelet does not send it, because the CSIDriver object does not set podInfoOnMount. */
  readonly workloadName: { readonly namespace: string; readonly name: string } | undefined;
  readonly attributes: VolumeAttributes;
  readonly mountOptions: readonly string[];
  /** Whether the request or the access mode is read-only. Mount options may request read-only, too. */
  readonly readOnly: boolean;
  /** The fsGroup of the workload, decimal; empty if the workload sets none. */
  readonly fsGroup: string;
  readonly access: Access;
  /** Of the service account of the workload; undefined unless the volume uses that account's credentials. */
  readonly token: Secret | undefined;
  readonly store: Store;
  /** The region of the volume's attributes, else of its Secret; undefined: the region of the driver. */
  readonly region: string | undefined;
}

/** Throws "invalid" with the name of the field. */
export function publishTargetFrom(kubeletDir: string, request: NodePublishVolumeRequest): PublishTarget {
  const volumeId = required("volume_id", request.volumeId);
  const { workload, persistentVolume } = parseTargetPath(kubeletDir, required("target_path", request.targetPath));
  const target = targetPath(kubeletDir, { workload, persistentVolume });
  return { volumeId: volumeId as VolumeId, target, workload, persistentVolume };
}

/** Throws "invalid" with the name of the field. */
export function publishIntentFrom(
  installation: Installation,
  published: PublishTarget,
  request: NodePublishVolumeRequest,
): PublishIntent {
  const { mountFlags, fsGroup, reader } = parseCapability(request.volumeCapability);
  checkWorkload(published.workload, request.volumeContext["csi.storage.k8s.io/pod.uid"]);
  const attributes = parseVolumeAttributes(request.volumeContext);
  const { region, ...credentials } = requestedAccess(installation, attributes, request);
  return {
    ...published,
    workloadName: nameIn(request.volumeContext),
    attributes,
    mountOptions: mountFlags,
    readOnly: request.readonly || reader,
    fsGroup,
    ...credentials,
    region: attributes.region ?? region,
  };
}

interface Capability {
  readonly mountFlags: readonly string[];
  readonly fsGroup: string;
  readonly reader: boolean;
}

function parseCapability(capability: NodePublishVolumeRequest["volumeCapability"]): Capability {
  const mode = capability?.accessMode?.mode ?? Mode.UNKNOWN;
  const access = capability?.accessType;
  if (access === undefined) throw new DriverError("invalid", "volume_capability with an access type is required");
  if (access.$case === "block") {
    throw new DriverError("invalid", "volume_capability asks for a block device, and a bucket cannot be one", {
      hint: "In the PersistentVolume and its claim: use volumeMode Filesystem.",
    });
  }
  if (mode === Mode.UNKNOWN) throw new DriverError("invalid", "volume_capability.access_mode is required");
  const { mountFlags, volumeMountGroup } = access.value;
  if (!/^\d*$/.test(volumeMountGroup)) {
    throw new DriverError("invalid", `volume_mount_group ${JSON.stringify(volumeMountGroup)} is not the id of a group`);
  }
  const reader = mode === Mode.MULTI_NODE_READER_ONLY || mode === Mode.SINGLE_NODE_READER_ONLY;
  return { mountFlags, fsGroup: volumeMountGroup, reader };
}

/** kubelet sends the Pod's UID in the volume context only with podInfoOnMount; the target path always contains it. */
function checkWorkload(workload: PodUid, uidInContext: string | undefined): void {
  if (uidInContext === undefined || uidInContext === workload) return;
  throw new DriverError(
    "invalid",
    `target_path belongs to Pod ${workload}, but volume_context names Pod ${uidInContext}`,
  );
}

function nameIn(context: Readonly<Record<string, string>>): PublishIntent["workloadName"] {
  const namespace = context["csi.storage.k8s.io/pod.namespace"];
  const name = context["csi.storage.k8s.io/pod.name"];
  return namespace && name ? { namespace, name } : undefined;
}

/**
 * Throws for a volume whose Secret and authenticationSource contradict each other. The caller calls this only if the driver's credentials
 * must not be used for such a volume (PR-10).
 */
export function refuseFallback({ attributes, access }: PublishIntent, { secrets }: NodePublishVolumeRequest): void {
  const { authenticationSource } = attributes;
  const named = authenticationSource === "secret" || Object.keys(withoutTokens(secrets)).length > 0;
  if (!named || access.source !== "driver") return;
  const why =
    authenticationSource === "secret" ? "no keys of a Secret came with it" : 'authenticationSource is not "secret"';
  throw new DriverError("invalid", `the volume would be mounted with the keys of the driver, because ${why}`, {
    hint: "Name both a provisioner and a node-publish Secret in the StorageClass, with access_key_id and secret_access_key in them, or allow it: chart value s3CredentialSecret.fallback.",
  });
}

function required(field: string, value: string): string {
  if (value === "") throw new DriverError("invalid", `${field} is required`);
  return value;
}
