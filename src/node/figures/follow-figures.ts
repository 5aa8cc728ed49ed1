import type { Call } from "../../runtime/call.ts";
import { inBackground } from "../../runtime/in-background.ts";
import type { Pulses } from "../../runtime/progress.ts";
import type { LocalMountpointPod, MountpointPods } from "../cluster/mountpoint-pods.ts";
import { lookRegularly } from "../mounts/look-regularly.ts";
import type { NodeMounts } from "../mounts/node-mounts.ts";
import type { FigureReceivers } from "./figure-receivers.ts";

interface Parts {
  readonly receivers: FigureReceivers;
  readonly mounts: Pick<NodeMounts, "table">;
  readonly mountpointPods: Pick<MountpointPods, "get" | "store">;
}

/**
 * Receives from every mount-s3 that serves a source, also if an earlier node plugin started it, and from no other. A publish does not wait
 * for this loop: it listens before it starts mount-s3. Runs until the call ends.
 */
export async function followFigures(call: Call, parts: Parts, progress: Pulses): Promise<void> {
  await parts.mountpointPods.store.synced(call);
  await lookRegularly(call, progress, "mounts without figures", () => look(call, parts));
}

function look(call: Call, { receivers, mounts, mountpointPods }: Parts): void {
  const sources = new Set(mounts.table().sourceNames);
  for (const name of receivers.names) if (!sources.has(name)) receivers.drop(name);
  for (const name of sources) {
    const pod = mountpointPods.get(name);
    if (pod === undefined || receivers.isListening(pod)) continue;
    inBackground(call.log, "listening for figures of a mount", listenOrLog(call, receivers, pod));
  }
}

/** Figures are not worth a failed mount. */
export async function listenOrLog(call: Call, receivers: FigureReceivers, pod: LocalMountpointPod): Promise<void> {
  // mount-s3 in Pods of 2.x may be older than its export. In the network of the host everybody on the node would reach the port.
  if (pod.isLegacy || pod.hostNetwork) return;
  try {
    await receivers.listen(call.log, pod);
  } catch (error) {
    call.log.debug("no figures of this mount", { mountpointPod: pod.name, error });
  }
}
