/** WM-1. What must hold at every write that makes, assigns or ends a Mountpoint Pod that waits for a volume. */
import { waitingPodFrom } from "../../src/core/mountpoint-pod-state.ts";
import { isWarmPodName } from "../../src/core/names.ts";
import { kinds, type MountpointS3PodAttachment, type Pod } from "../../src/kube/kinds.ts";
import type { ApiServer, Write, Writer } from "./api-server.ts";
import { BrokenRule } from "./broken-rule.ts";
import { claimedBy } from "./warm-claims.ts";

interface World {
  readonly cluster: { readonly server: ApiServer };
}

export class WaitingRules {
  readonly #world: World;
  /** Mountpoint Pod → the attachment in which a leader has listed it. */
  readonly #listed = new Map<string, string>();
  /** Those that a request has created after the term of its sender: the next leader may have listed everything before. */
  readonly #late = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  /** `isInTerm`: the request was sent in the term that the leader is in now. */
  checkPod({ before, after }: Write, { release, process }: Writer, isInTerm: boolean): void {
    const made = before === undefined && after !== undefined ? waitingPodFrom(after as Pod) : undefined;
    if (made === undefined || release === undefined) return;
    if (!isInTerm) {
      this.#late.add(made.name);
      return;
    }
    if (release.warmPerNode === 0) throw new BrokenRule(`${made.name} is made, and none are to wait`);
    const claimed = claimedBy(process);
    const here = this.#waiting().filter(({ name, node }) => node === made.node && !claimed.has(name));
    if (here.length >= release.warmPerNode) throw new BrokenRule(`${here.length + 1} wait on ${made.node}`);
  }

  /** No leader gives a Mountpoint Pod to a volume after it, or a leader before it, has given it to another one. */
  checkAttachment({ before, after }: Write, isInTerm: boolean): void {
    if (after === undefined || !isInTerm) return;
    const attachment = after.metadata.name;
    const former = new Set(warmPodsIn(before));
    for (const name of warmPodsIn(after).filter((listed) => !former.has(listed))) {
      const other = this.#listed.get(name) ?? attachment;
      if (other !== attachment) throw new BrokenRule(`${name} is given to two volumes`);
      this.#listed.set(name, attachment);
    }
  }

  /** Those that a leader must count. One with the needs-unmount annotation may have left an attachment a moment ago. */
  #waiting() {
    const { server } = this.#world.cluster;
    const listed = new Set(
      server.all(kinds.attachments).flatMap(({ spec }) => Object.keys(spec.mountpointS3PodAttachments)),
    );
    const all = server.all(kinds.pods).flatMap((pod) => waitingPodFrom(pod) ?? []);
    const staying = all.filter(({ terminating, needsUnmount }) => !terminating && !needsUnmount);
    return staying.filter(({ name }) => !listed.has(name) && !this.#late.has(name));
  }
}

function warmPodsIn(written: Write["after"]): string[] {
  const attachment = written as unknown as MountpointS3PodAttachment | undefined;
  return Object.keys(attachment?.spec.mountpointS3PodAttachments ?? {}).filter(isWarmPodName);
}
