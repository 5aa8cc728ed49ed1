import type { HealRoom } from "../heal/heal-room.ts";

/** What moving works with. Its state is the difference between mount table and attachments, so a restart continues it. */
export interface MoveRoom extends HealRoom {
  /** Whether the kernel can put a mount beneath another one; without that, a path would show the container's own directory for a moment. */
  readonly canMountBeneath: boolean;
}
