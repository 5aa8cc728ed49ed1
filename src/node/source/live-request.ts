/** The request for the mount-s3 of a Mountpoint Pod, with the live options for which the Pod was created. */
import { DriverError } from "../../core/errors.ts";
import { withLiveArguments } from "../../core/live/live-arguments.ts";
import type { MountRequest } from "../../core/volume/mount-request.ts";
import type { Call } from "../../runtime/call.ts";
import type { LocalMountpointPod } from "../cluster/mountpoint-pods.ts";
import { logEnvironment } from "../domain/mount-s3-log.ts";

/**
 * `request`: that of the record, which has what the workloads were mounted with by the PersistentVolume. Live options are not recorded: each
 * mount-s3 of a Mountpoint Pod gets those of its Pod, also one that kubelet has started again, and its successor those of the successor.
 */
export function liveRequest(call: Call, request: MountRequest, pod: LocalMountpointPod): MountRequest {
  if (Object.keys(pod.live).length === 0) return request;
  try {
    const { args, maxAttempts, proxy } = withLiveArguments(request.args, pod.live);
    const env = without(request.env, [...Object.keys(proxy), ...Object.keys(logEnvironment(request.args))]);
    const set = Object.fromEntries(Object.entries(proxy).filter(([, value]) => value !== ""));
    const attempts = maxAttempts === undefined ? {} : { AWS_MAX_ATTEMPTS: maxAttempts };
    return { ...request, args, env: { ...env, ...logEnvironment(args), ...attempts, ...set } };
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    // Edited by hand: the volume is more useful without its live options than not at all.
    call.log.error("annotations of the Mountpoint Pod are ignored", { error });
    return request;
  }
}

function without(env: MountRequest["env"], names: readonly string[]): MountRequest["env"] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
}
