import { DriverError } from "../../core/errors.ts";
import type { PodUid, PvName, VolumeId } from "../../core/names.ts";
import { parseVolumeAttributes, type VolumeAttributes } from "../../core/volume-attributes.ts";
import { VolumeCapability_AccessMode_Mode as Mode, type NodePublishVolumeRequest } from "../../csi/gen/csi.ts";
import { type Credentials, credentialsFrom, volumeCredentialFields } from "../../s3/credentials.ts";
import { parseTargetPath, targetPath } from "../domain/target-path.ts";

/** A volume, at a path, for one workload. */
interface PublishTarget {
  readonly volumeId: VolumeId;
  /** In the one spelling that mountinfo has, too. */
  readonly target: string;
  readonly workload: PodUid;
  readonly persistentVolume: PvName;
}

/** What kubelet wants, understood. */
export interface PublishIntent extends PublishTarget {
  /** What kubelet calls the workload; undefined where it is not asked to tell (podInfoOnMount). */
  readonly workloadName: { readonly namespace: string; readonly name: string } | undefined;
  readonly attributes: VolumeAttributes;
  readonly mountOptions: readonly string[];
  /** The request or the access mode says so; an option may say so, too. */
  readonly readOnly: boolean;
  /** The group that the volume should belong to, decimal; empty where the workload sets none. */
  readonly fsGroup: string;
  /** The volume's own keys; undefined: those of the driver. */
  readonly keys: Credentials | undefined;
  /** Of the volume's attributes, else of its Secret; undefined: the driver's. */
  readonly region: string | undefined;
}

/** Refused with the name of the field, as everything else that is wrong with a request. */
export function publishTargetFrom(kubeletDir: string, request: NodePublishVolumeRequest): PublishTarget {
  const volumeId = required("volume_id", request.volumeId);
  const { workload, persistentVolume } = parseTargetPath(kubeletDir, required("target_path", request.targetPath));
  const target = targetPath(kubeletDir, { workload, persistentVolume });
  return { volumeId: volumeId as VolumeId, target, workload, persistentVolume };
}

/** Past this line a request is typed. */
export function publishIntentFrom(place: PublishTarget, request: NodePublishVolumeRequest): PublishIntent {
  const { mountFlags, fsGroup, reader } = parseCapability(request.volumeCapability);
  checkWorkload(place.workload, request.volumeContext["csi.storage.k8s.io/pod.uid"]);
  const attributes = parseVolumeAttributes(request.volumeContext);
  const { keys, region } = parseSecrets(attributes, request.secrets);
  return {
    ...place,
    workloadName: nameIn(request.volumeContext),
    attributes,
    mountOptions: mountFlags,
    readOnly: request.readonly || reader,
    fsGroup,
    keys,
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

/** kubelet tells who the workload is only if it is asked to (podInfoOnMount); the path always does. */
function checkWorkload(workload: PodUid, told: string | undefined): void {
  if (told === undefined || told === workload) return;
  throw new DriverError("invalid", `target_path belongs to Pod ${workload}, but volume_context names Pod ${told}`);
}

function nameIn(context: Readonly<Record<string, string>>): PublishIntent["workloadName"] {
  const namespace = context["csi.storage.k8s.io/pod.namespace"];
  const name = context["csi.storage.k8s.io/pod.name"];
  return namespace && name ? { namespace, name } : undefined;
}

/** A volume whose Secret and whose authenticationSource do not fit together is mounted with the driver's keys, unless that is forbidden (PR-10). */
export function refuseFallback({ attributes, keys }: PublishIntent, { secrets }: NodePublishVolumeRequest): void {
  const { authenticationSource } = attributes;
  const named = authenticationSource === "secret" || Object.keys(secrets).length > 0;
  if (!named || keys !== undefined) return;
  const why =
    authenticationSource === "secret" ? "no keys of a Secret came with it" : 'authenticationSource is not "secret"';
  throw new DriverError("invalid", `the volume would be mounted with the keys of the driver, because ${why}`, {
    hint: "Name both a provisioner and a node-publish Secret in the StorageClass, with access_key_id and secret_access_key in them, or allow it: chart value s3CredentialSecret.fallback.",
  });
}

/** "secret" without a Secret to publish with means the driver's keys: classes of 2.x rely on it. */
function parseSecrets(
  { authenticationSource }: VolumeAttributes,
  secrets: Readonly<Record<string, string>>,
): { readonly keys: Credentials | undefined; readonly region: string | undefined } {
  if (authenticationSource === "driver" || Object.keys(secrets).length === 0) {
    return { keys: undefined, region: undefined };
  }
  const keys = credentialsFrom("the Secret named by nodePublishSecretRef", secrets, volumeCredentialFields);
  return { keys, region: secrets["region"]?.trim() || undefined };
}

function required(field: string, value: string): string {
  if (value === "") throw new DriverError("invalid", `${field} is required`);
  return value;
}
