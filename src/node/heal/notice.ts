/** Finds mounts whose mount-s3 has died: by the end of its connection, and by asking where there is none. */

import { setTimeout as delay } from "node:timers/promises";
import type { PodName } from "../../core/names.ts";
import type { Mount } from "../../linux/mountinfo.ts";
import type { Call } from "../../runtime/call.ts";
import { inBackground } from "../../runtime/in-background.ts";
import type { Pulses } from "../../runtime/progress.ts";
import { isOurs } from "../mounts/mount-table.ts";
import type { NodeParts } from "../node-parts.ts";
import { isV1Mount } from "../v1-mounts.ts";
import { deadTargets } from "./bring-back.ts";

/** A mount-s3 that was started before this process has no connection to it; asking costs it a microsecond. */
const askEveryMs = 5000;
const probeLimitMs = 5000;

/** Ends with the call. */
export async function noticeDeadMounts(call: Call, node: NodeParts, progress: Pulses): Promise<void> {
  const suspect = (name: PodName) => {
    const mount = node.mounts().source(name);
    if (mount !== undefined) inBackground(call.log, "asking a mount", ask(call, node, { mount, name }));
  };
  using _ends = node.sources.onEnd(suspect);
  // One that hung and was given up keeps its connection.
  using _health = node.health.subscribe((name) => {
    if (node.health.get(name).health === "dead") suspect(name);
  });
  const turned = progress.pulse("looking for dead mounts");
  while (!call.signal.aborted) {
    turned();
    await Promise.all(unconnected(node).map((one) => ask(call, node, one)));
    // The end of the program is no failure.
    await delay(askEveryMs, undefined, { signal: call.signal, ref: false }).catch(() => undefined);
  }
}

interface Suspect {
  readonly mount: Mount;
  readonly name: PodName | undefined;
}

async function ask(call: Call, node: NodeParts, { mount, name }: Suspect): Promise<void> {
  const { kernel, mounts, deadMounts } = node;
  try {
    const health = await kernel.probe(call, mount.mountPoint, probeLimitMs);
    // It may have been replaced while we asked.
    const now = mounts().at(mount.mountPoint);
    if (health !== "dead" || now?.minor !== mount.minor) return;
    // A source that nobody uses stays until the controller wants it away: there is nobody to heal.
    if (deadTargets(node, mount).length > 0) deadMounts.notice(mount, name);
  } catch (error) {
    if (!call.signal.aborted) call.log.info("a mount cannot be asked", { mountPoint: mount.mountPoint, error });
  }
}

/** One mount of each device that we would not hear of: sources without a connection, and targets without a source. */
function unconnected(node: NodeParts): readonly Suspect[] {
  const { sources, deadMounts } = node;
  const suspects = new Map<number, Suspect>();
  const heard = new Set<number>();
  const mounts = node.mounts();
  for (const mount of mounts.all.filter(isOurs)) {
    const { minor } = mount;
    const name = mounts.sourceNameOf(mount);
    if (name !== undefined && sources.isConnected(name)) heard.add(minor);
    const isNew = !suspects.has(minor) && mounts.workloadOf(mount) !== undefined;
    if (name !== undefined || (isNew && !isV1Mount(node, mount, mounts))) suspects.set(minor, { mount, name });
  }
  return [...suspects].flatMap(([minor, one]) => (heard.has(minor) || deadMounts.isKnown(minor) ? [] : [one]));
}
