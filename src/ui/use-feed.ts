import { useEffect, useReducer } from "preact/hooks";
import { readFeed } from "./feed-reader.ts";
import { emptyModel, type Model, modelAfter } from "./model.ts";

const withoutToken = "This page was opened without its token. Open the address that `kubectl s3 ui` has printed.";
const lost = "The plugin does not answer: `kubectl s3 ui` has ended, or this machine was asleep.";
/** Another run of the plugin has this port: it never takes the token of this one. */
const earlierRun =
  "This page belongs to an earlier run of the plugin. Open the address that `kubectl s3 ui` has printed.";

/** Follows the plugin for as long as the page is open. */
export function useFeed(token: string | undefined): Model {
  const [model, happened] = useReducer(modelAfter, emptyModel);
  useEffect(() => {
    const leave = new AbortController();
    const onServer = (problem: string) => happened({ type: "server", problem });
    if (token === undefined) onServer(withoutToken);
    else
      readFeed(leave.signal, { token, lost }, { onMessage: happened, onServer })
        .then((refusal) => refusal && onServer(earlierRun))
        .catch((error: unknown) => onServer(String(error)));
    return () => leave.abort();
  }, [token]);
  return model;
}
