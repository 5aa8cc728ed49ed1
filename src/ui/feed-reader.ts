/** Reads the feed of the plugin, and comes back when it breaks. */
import { aliveMs, type FeedMessage } from "../page/page-state.ts";

export interface FeedListener {
  readonly onMessage: (message: FeedMessage) => void;
  /** Empty: the plugin answers. */
  readonly onPlugin: (problem: string) => void;
}

const firstRetryMs = 500;
const longestRetryMs = 10_000;

/** Resolves when the plugin refuses the token: another run of the plugin has this port, and does not take it back. */
export async function readFeed(token: string, listener: FeedListener): Promise<void> {
  let retryMs = firstRetryMs;
  while (true) {
    try {
      const isRefused = await readOnce(token, {
        ...listener,
        onMessage: (message) => {
          retryMs = firstRetryMs;
          listener.onMessage(message);
        },
      });
      if (isRefused) return;
    } catch {
      // Reported below, with the end of a stream.
    }
    listener.onPlugin("The plugin does not answer: `kubectl s3 ui` has ended, or this machine was asleep.");
    await new Promise((resolve) => {
      setTimeout(resolve, retryMs);
    });
    retryMs = Math.min(retryMs * 2, longestRetryMs);
  }
}

/** True: the token is refused. False: the stream has ended. Rejects when it breaks, or is silent for too long. */
async function readOnce(token: string, { onMessage, onPlugin }: FeedListener): Promise<boolean> {
  const silence = new AbortController();
  const response = await fetch("/feed", { headers: { authorization: `Bearer ${token}` }, signal: silence.signal });
  if (response.status === 401) {
    onPlugin("This page belongs to an earlier run of the plugin. Open the address that `kubectl s3 ui` has printed.");
    return true;
  }
  if (!response.ok || response.body === null) return false;
  let timer = setTimeout(() => silence.abort(), 3 * aliveMs);
  try {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), 3 * aliveMs);
      const lines = (rest + part.value).split("\n");
      rest = lines.pop() ?? "";
      onPlugin("");
      for (const line of lines) onMessage(JSON.parse(line) as FeedMessage);
    }
    return false;
  } finally {
    clearTimeout(timer);
  }
}
