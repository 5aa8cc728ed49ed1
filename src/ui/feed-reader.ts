/** Reads the feed of the server, and comes back when it breaks. */
import { aliveMs, type FeedMessage } from "../page/page-state.ts";

export interface FeedListener {
  readonly onMessage: (message: FeedMessage) => void;
  /** Empty: the server answers. */
  readonly onServer: (problem: string) => void;
}

export interface FeedSource {
  /** Undefined: something between page and server logs in. */
  readonly token: string | undefined;
  /** What to say when there is no answer. */
  readonly lost: string;
}

/** The server does not let this page in. */
export interface FeedRefusal {
  readonly isTokenUnknown: boolean;
  readonly because: string;
}

const firstRetryMs = 500;
const longestRetryMs = 10_000;

/** Resolves when the server refuses; otherwise it reads until the signal aborts, and never resolves then. */
export async function readFeed(
  signal: AbortSignal,
  source: FeedSource,
  listener: FeedListener,
): Promise<FeedRefusal | undefined> {
  let retryMs = firstRetryMs;
  while (!signal.aborted) {
    let problem = source.lost;
    try {
      const end = await readOnce(signal, source, {
        ...listener,
        onMessage: (message) => {
          retryMs = firstRetryMs;
          listener.onMessage(message);
        },
      });
      if (typeof end === "object") return end;
      problem = end === "" ? source.lost : end;
    } catch {
      // There is no answer, or it broke: reported below, with the end of a stream.
    }
    if (signal.aborted) return undefined;
    listener.onServer(problem);
    await new Promise((resolve) => {
      setTimeout(resolve, retryMs);
    });
    retryMs = Math.min(retryMs * 2, longestRetryMs);
  }
  return undefined;
}

/**
 * A refusal; or why the server cannot answer now, empty if the stream has ended. Rejects when the stream breaks, or is silent for too
 * long.
 */
async function readOnce(
  signal: AbortSignal,
  { token }: FeedSource,
  { onMessage, onServer }: FeedListener,
): Promise<FeedRefusal | string> {
  const silence = new AbortController();
  // Not AbortSignal.any, which Firefox 115 does not have.
  signal.addEventListener("abort", () => silence.abort(), { signal: silence.signal });
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch("/feed", { headers, signal: silence.signal });
  const { status } = response;
  if (status === 401 || status === 403)
    return { isTokenUnknown: status === 401, because: (await response.text()).trim() };
  if (!response.ok || response.body === null) return (await response.text()).trim();
  let timer = setTimeout(() => silence.abort(), 3 * aliveMs);
  try {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), 3 * aliveMs);
      const lines = (rest + part.value).split("\n");
      rest = lines.pop() ?? "";
      onServer("");
      for (const line of lines) onMessage(JSON.parse(line) as FeedMessage);
    }
    return "";
  } finally {
    clearTimeout(timer);
  }
}
