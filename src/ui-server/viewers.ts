/** Open streams: as many as the memory is made for, and each only as long as its viewer has the rights. */
import type { ServerResponse } from "node:http";
import type { Access } from "../core/access.ts";
import { elapsed } from "../page/elapsed.ts";
import type { Feed } from "../page/feed.ts";
import { streamFeed } from "../page/page-responses.ts";

export class Viewers {
  readonly #most: number;
  readonly #feed: Feed;
  readonly #recheckMs: number;
  #count = 0;

  /** `recheckMs`: how often it is asked whether a viewer still may look. */
  constructor(feed: Feed, { most, recheckMs }: { readonly most: number; readonly recheckMs: number }) {
    this.#feed = feed;
    this.#most = most;
    this.#recheckMs = recheckMs;
  }

  get count(): number {
    return this.#count;
  }

  get isFull(): boolean {
    return this.#count >= this.#most;
  }

  /** Sends the feed until the viewer leaves, or `access` does not allow it any more. */
  async show(response: ServerResponse, access: () => Promise<Access>): Promise<void> {
    this.#count += 1;
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const subscription = streamFeed(response, this.#feed);
    try {
      while (!gone.signal.aborted) {
        await elapsed(gone.signal, this.#recheckMs);
        if (!gone.signal.aborted && (await access()).is !== "allowed") break;
      }
    } finally {
      this.#count -= 1;
      // The page asks again, and is told why it is refused.
      subscription.end();
      response.end();
    }
  }
}
