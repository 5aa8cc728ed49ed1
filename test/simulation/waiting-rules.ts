/** WM-1. What must hold at every write that makes, assigns or ends a Mountpoint Pod that waits for a volume. */
import { waitingPodFrom } from "../../src/core/mountpoint-pod-state.ts";
import { isWarmPodName } from "../../src/core/names.ts";
import { kinds, type MountpointS3PodAttachment, type Pod } from "../../src/kube/kinds.ts";
import type { ApiServer, Write, Writer } from "./api-server.ts";
import { BrokenRule } from "./broken-rule.ts";
import type { SimulatedProcess } from "./process.ts";
import { volumeCount } from "./volumes.ts";

interface World {
  readonly cluster: { readonly server: ApiServer };
}

export class WaitingRules {
  readonly #world: World;
  /** Mountpoint Pod → the process that has listed it, in which attachment. */
  readonly #listed = new Map<string, { readonly process: SimulatedProcess; readonly attachment: string }>();

  constructor(world: World) {
    this.#world = world;
  }

  checkPod({ before, after }: Write, { release }: Writer, isLeading: boolean): void {
    const made = before === undefined && after !== undefined ? waitingPodFrom(after as Pod) : undefined;
    if (made === undefined || !isLeading || release === undefined) return;
    if (release.warmPerNode === 0) throw new BrokenRule(`${made.name} is made, and none are to wait`);
    const here = this.#waiting().filter(({ node, terminating }) => node === made.node && !terminating);
    // One of a former leader may arrive late, and one that a volume has claimed does not count.
    const most = release.warmPerNode + 1 + volumeCount;
    if (here.length + 1 > most) throw new BrokenRule(`${here.length + 1} wait on ${made.node}`);
  }

  /** No leader gives a Mountpoint Pod to a volume after it has given it to another one. */
  checkAttachment({ before, after }: Write, { process }: Writer, isLeading: boolean): void {
    if (after === undefined) return;
    const attachment = after.metadata.name;
    const former = new Set(warmPodsIn(before));
    for (const name of warmPodsIn(after).filter((listed) => !former.has(listed))) {
      const other = this.#listed.get(name);
      const isOther = other?.process === process && other.attachment !== attachment;
      if (isLeading && isOther) throw new BrokenRule(`${name} is given to two volumes`);
      this.#listed.set(name, { process, attachment });
    }
  }

  #waiting() {
    const { server } = this.#world.cluster;
    const listed = new Set(
      server.all(kinds.attachments).flatMap(({ spec }) => Object.keys(spec.mountpointS3PodAttachments)),
    );
    const all = server.all(kinds.pods).flatMap((pod) => waitingPodFrom(pod) ?? []);
    return all.filter(({ name }) => !listed.has(name));
  }
}

function warmPodsIn(written: Write["after"]): string[] {
  const attachment = written as unknown as MountpointS3PodAttachment | undefined;
  return Object.keys(attachment?.spec.mountpointS3PodAttachments ?? {}).filter(isWarmPodName);
}
