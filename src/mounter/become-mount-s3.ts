import { existsSync, mkdtempSync } from "node:fs";
import { join } from "node:path/posix";
import { scratch } from "../core/names.ts";
import { become } from "../linux/process/exec.ts";
import type { Call } from "../runtime/call.ts";
import type { MounterConfig } from "./config.ts";
import { mountS3Args } from "./mount-s3-args.ts";
import type { Received } from "./receive.ts";

/**
 * Replaces this process by mount-s3 (execve(2)), so that the Mountpoint Pod runs nothing else. mount-s3 inherits the connection and
 * does not use it: when mount-s3 dies, the kernel closes the connection, and the node plugin notices.
 * mount-s3 gets no SIGTERM (DS-9): on a drain kubelet signals every Pod at once, and workloads still write through this mount. It
 * ends with the unmount. Signals are blocked rather than ignored, because mount-s3 installs handlers.
 */
export function becomeMountS3(call: Call, config: MounterConfig, { request, device, connection }: Received): never {
  const file = join(config.binDir, "mount-s3");
  const args = mountS3Args(request, {
    device: device.fd,
    memoryTarget: config.memoryTarget,
    cacheDirectory: () => cacheDirectory(config),
  });
  call.log.info("starting mount-s3", { bucket: request.bucketName, args });
  return become({
    file,
    args,
    env: request.env,
    inherits: [device, connection],
    blockedSignals: ["SIGTERM", "SIGINT", "SIGHUP"],
  });
}

/** mount-s3 empties its cache directory at the start, so without a cache volume it gets a new directory. */
function cacheDirectory({ cacheDir }: MounterConfig): string {
  return existsSync(cacheDir) ? cacheDir : mkdtempSync(join(scratch.containerPath, "mount-s3-cache-"));
}
