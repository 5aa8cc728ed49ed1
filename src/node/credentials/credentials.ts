/** Credentials belong to the Mountpoint Pod, not to the workload that mounted first (MP-3). */
import { DriverError } from "../../core/errors.ts";
import { parseIdentity } from "../../core/identity.ts";
import { defaultStore, type Stores } from "../../core/stores/store.ts";
import type { Call } from "../../runtime/call.ts";
import { describeError } from "../../runtime/log.ts";
import type { Credentials } from "../../s3/credentials.ts";
import type { LocalMountpointPod } from "../cluster/mountpoint-pods.ts";
import { protocolOf } from "../legacy/mounter-2x.ts";
import type { CommVolume, CommVolumes } from "../mounts/comm-volume.ts";
import type { PublishIntent } from "../publish/publish-request.ts";
import type { MountRecords } from "../records/mount-records.ts";
import type { PodSessions } from "../sessions/pod-sessions.ts";
import { checkStaysAt, isAtAddressOf, movedStore } from "../source/store-of-record.ts";
import { type Access, describeAccess, isFor } from "./access.ts";
import type { DriverCredentialsOfStores } from "./driver-credentials-of-stores.ts";
import { renewedFiles } from "./profile.ts";

export interface MountCredentials {
  readonly drivers: Pick<DriverCredentialsOfStores, "of" | "onChange">;
  readonly sessions: Pick<PodSessions, "offer" | "known" | "get">;
  readonly comm: CommVolumes;
  readonly stores: Stores;
  readonly records: Pick<MountRecords, "get">;
}

type Origins = Pick<MountCredentials, "drivers" | "sessions">;

export async function credentialsFor(call: Call, { drivers, sessions }: Origins, access: Access): Promise<Credentials> {
  switch (access.source) {
    case "driver":
      return await drivers.of(access.store).get(call);
    case "secret":
      return access.credentials;
    case "pod":
      return await sessions.get(call, access);
    default:
      return access satisfies never;
  }
}

/** The credentials that are known now, without a request. */
function knownCredentials({ drivers, sessions }: Origins, access: Access): Credentials | undefined {
  if (access.source === "secret") return access.credentials;
  return access.source === "pod" ? sessions.known(access) : drivers.of(access.store).known();
}

/**
 * Renews all credential files. A mount-s3 that a node plugin of 2.x mounted reads the file that is named after the workload that
 * mounted first, and that workload is unknown. During an upgrade such a mount-s3 may run in a Mountpoint Pod of this version.
 */
function renewCredentials(volume: CommVolume, pod: LocalMountpointPod, credentials: Credentials): void {
  const legacyFiles = renewedFiles(volume.credentialFiles(), credentials);
  volume.writeCredentials({ ...legacyFiles, ...protocolOf(pod).renewedFiles(credentials) });
}

/** Writes the current credentials to a running Mountpoint Pod. Makes no request: unknown credentials are written when they arrive. */
export function refreshCredentials(credentials: MountCredentials, pod: LocalMountpointPod, access: Access): void {
  if (!mayReach(credentials, pod, access)) return;
  const known = knownCredentials(credentials, access);
  if (known === undefined) return;
  using volume = credentials.comm.open(pod.uid);
  if (volume !== undefined) renewCredentials(volume, pod, known);
}

/**
 * A mount-s3 keeps the store at which it was started: it must not get keys of another, which a changed Secret or chart value may name (ID-4).
 * Throws where the name says so. At an address that the default store does not list any more, mount-s3 keeps the keys that it has; those of
 * a session end, so the workload has to be told. Mounts without a record are those of earlier versions, which knew the default store only, or
 * their record was lost.
 */
function mayReach({ stores, records }: MountCredentials, pod: LocalMountpointPod, access: Access): boolean {
  const record = records.get(pod.name);
  if (record === undefined) {
    if (access.store === defaultStore) return true;
    throw new DriverError(
      "notReady",
      `the node plugin does not know at which store ${pod.name} has mounted the volume`,
      {
        hint: "Restart the Pods of the volume on this node: they keep the keys that they have until then.",
      },
    );
  }
  checkStaysAt(stores, record, access.store);
  const store = stores.get(access.store);
  if (store === undefined || isAtAddressOf(store, record.request)) return true;
  if (access.source === "pod") throw movedStore(store, record);
  return false;
}

/** Returns the failure instead of throwing: a terminating Pod must not affect the others. The next republish retries. */
export function tryRefresh(
  credentials: MountCredentials,
  pod: LocalMountpointPod,
  access: Access,
): Failure | undefined {
  try {
    refreshCredentials(credentials, pod, access);
    return undefined;
  } catch (error) {
    return {
      text: `${pod.name}: ${describeError(error)}`,
      hint: error instanceof DriverError ? error.hint : undefined,
    };
  }
}

interface Failure {
  readonly text: string;
  readonly hint: string | undefined;
}

/**
 * Keys of one identity must never reach a mount of another (SE-6). Mountpoint Pods of 2.x do not name their identity, and 2.x assigns
 * workloads of several accounts to one, although its node plugin mounts no volume with `authenticationSource: pod`.
 */
export function checkIdentity(pod: LocalMountpointPod, { access, attributes }: PublishIntent): void {
  if (pod.identity === undefined ? access.source !== "pod" : isFor(pod.identity, access)) return;
  if (pod.identity !== undefined && access.source === "driver" && attributes.authenticationSource === "secret") {
    const known = parseIdentity(pod.identity);
    if (known?.source === "secret" && known.store === access.store) throw noCredentialsIn(pod.identity);
  }
  throw new DriverError(
    "notReady",
    `Mountpoint Pod ${pod.name} ${describeKeys(pod)}, the volume ${describeAccess(access)}`,
    {
      hint:
        access.source === "pod"
          ? "Start the Pod anew: it then gets a Mountpoint Pod of its own."
          : "Check that the Secret named by nodePublishSecretRef holds keys, then start the Pod anew.",
    },
  );
}

function describeKeys({ identity }: LocalMountpointPod): string {
  return identity === undefined ? "of 2.x names no service account" : `uses the keys of "${identity}"`;
}

/** The Secret exists: kubelet does not call NodePublishVolume without it. */
function noCredentialsIn(identity: string): DriverError {
  const secret = identity.replace(/^secret:/, "").replace(/@.*/, "");
  return new DriverError("invalid", `access_key_id in Secret ${secret} is missing or empty`, {
    hint: "It is named by nodePublishSecretRef: put access_key_id and secret_access_key into it. The keys of the driver do not stand in for it.",
  });
}
