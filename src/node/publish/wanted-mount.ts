import { mountArguments, userAgentPrefix } from "../../core/mount-args.ts";
import { choosePidNamespace } from "../../core/pid-namespace.ts";
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
  /** Everything that mount-s3 is started with. */
  readonly record: MountRecord;
}

export function wantedMount(
  settings: PublishSettings,
  kubernetesVersion: string | undefined,
  intent: PublishIntent,
): WantedMount {
  const { persistentVolume, volumeId, workload, credentials } = intent;
  const { bucket, prefix, cache, proxy, pidNamespace } = intent.attributes;
  const { driverVersion } = settings;
  const credentialSource = credentials === undefined ? "driver" : "secret";
  const { args, env, readOnly, warnings } = mountArguments({
    options: intent.mountOptions,
    readOnly: intent.readOnly,
    fsGroup: intent.fsGroup,
    region: intent.region,
    prefix,
    cache,
    userAgentPrefix: userAgentPrefix({ driverVersion, credentialSource, kubernetesVersion }),
  });
  const request = {
    bucketName: bucket,
    args,
    env: mountEnvironment(settings, { ...env, ...proxy, ...logEnvironment(args) }),
  };
  const pids = choosePidNamespace(settings.pidNamespaces, pidNamespace);
  const record = { persistentVolume, volumeId, workload, request, credentials, pidNamespace: pids };
  return { intent, readOnly, warnings, record };
}
