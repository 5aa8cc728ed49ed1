import type { HealRoom } from "../heal/heal-room.ts";

/** What moving works with. Its state is the difference between mount table and attachments, so a restart continues it. */
export interface MoveRoom extends HealRoom {
  readonly replacement: Replacement;
}

/**
 * How the mount of a running container is replaced while it works. `withGap`: the kernel cannot put a mount beneath another one, so the
 * path shows the container's own directory for a moment, and what is written there in that moment does not reach the bucket.
 */
export type Replacement = "withoutGap" | "withGap" | "refused";

export function replacementFor(canMountBeneath: boolean, { movesWithGap }: { readonly movesWithGap: boolean }) {
  if (canMountBeneath) return "withoutGap";
  return movesWithGap ? "withGap" : "refused";
}
