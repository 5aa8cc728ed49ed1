import { type MountArguments, mountArguments, userAgentPrefix } from "../../core/volume/mount-args.ts";
import { choosePidNamespace } from "../../core/volume/pid-namespace.ts";
import { logEnvironment } from "../domain/mount-s3-log.ts";
import type { MountRecord } from "../records/mount-records.ts";
import { mountEnvironment } from "./mount-environment.ts";
import type { PublishIntent } from "./publish-request.ts";
import type { PublishSettings } from "./publish-room.ts";

/** What a request of kubelet asks for. */
export interface WantedMount {
  readonly intent: PublishIntent;
  readonly readOnly: boolean;
  /** Mount options that were changed or dropped, and why. */
  readonly warnings: readonly string[];
  /**
   * Everything that mount-s3 is started with. Throws "invalid" for what this installation does not offer: a mount that serves already
   * is kept all the same.
   */
  readonly record: () => MountRecord;
}

/** `kubernetesVersion` is asked when the record is needed: during the start of the node plugin the answer arrives late. */
export function wantedMount(
  settings: PublishSettings,
  kubernetesVersion: () => string | undefined,
  intent: PublishIntent,
): WantedMount {
  const { readOnly, warnings } = argumentsOf(settings, kubernetesVersion(), intent);
  return { intent, readOnly, warnings, record: () => recordOf(settings, kubernetesVersion(), intent) };
}

function recordOf(
  settings: PublishSettings,
  kubernetesVersion: string | undefined,
  intent: PublishIntent,
): MountRecord {
  const { persistentVolume, volumeId, workload, access } = intent;
  const { bucket, proxy, pidNamespace } = intent.attributes;
  const { args, env } = argumentsOf(settings, kubernetesVersion, intent);
  const request = {
    bucketName: bucket,
    args,
    env: mountEnvironment(settings, intent.store, { ...env, ...proxy, ...logEnvironment(args) }),
  };
  const pids = choosePidNamespace(settings.pidNamespaces, pidNamespace);
  return { persistentVolume, volumeId, workload, request, access, pidNamespace: pids };
}

function argumentsOf(
  { driverVersion }: PublishSettings,
  kubernetesVersion: string | undefined,
  intent: PublishIntent,
): MountArguments {
  const credentialSource = intent.access.source;
  return mountArguments({
    options: intent.mountOptions,
    readOnly: intent.readOnly,
    fsGroup: intent.fsGroup,
    region: intent.region,
    prefix: intent.attributes.prefix,
    cache: intent.attributes.cache,
    userAgentPrefix: userAgentPrefix({ driverVersion, credentialSource, kubernetesVersion }),
    store: intent.store,
  });
}
