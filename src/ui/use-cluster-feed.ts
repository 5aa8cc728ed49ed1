import { useEffect, useReducer, useState } from "preact/hooks";
import { type FeedRefusal, readFeed } from "./feed-reader.ts";
import { emptyModel, type Model, modelAfter } from "./model.ts";

const lost = "The server of the page does not answer: `kubectl port-forward` has ended, or the Pod was replaced.";

export interface ClusterFeed {
  readonly model: Model;
  /** Undefined: the server has not refused the token. */
  readonly refusal: FeedRefusal | undefined;
  /** Undefined: none was given. */
  readonly token: string | undefined;
  /** Without a token: only a proxy that logs in can help. */
  readonly logIn: (token?: string) => void;
}

/**
 * Follows the server in the cluster. The token is in the memory of this page only: neither a cookie, which browsers send to every
 * other server on this host, too, nor a storage, which outlives the page.
 */
export function useClusterFeed(): ClusterFeed {
  const [model, happened] = useReducer(modelAfter, emptyModel);
  // An object, so that the same token can be tried again.
  const [attempt, setAttempt] = useState<{ readonly token: string | undefined }>({ token: undefined });
  const [refusal, setRefusal] = useState<FeedRefusal | undefined>();
  useEffect(() => {
    const leave = new AbortController();
    const onServer = (problem: string) => happened({ type: "server", problem });
    const follow = async () => {
      const refused = await readFeed(leave.signal, { token: attempt.token, lost }, { onMessage: happened, onServer });
      if (refused === undefined) return;
      // Who is not let in any more sees nothing of what was shown before.
      happened({ type: "forget" });
      setRefusal(refused);
    };
    follow().catch((error: unknown) => onServer(String(error)));
    return () => leave.abort();
  }, [attempt]);
  const logIn = (token?: string) => {
    happened({ type: "forget" });
    setRefusal(undefined);
    setAttempt({ token });
  };
  return { model, refusal, token: attempt.token, logIn };
}
