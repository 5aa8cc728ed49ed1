import { useEffect, useReducer } from "preact/hooks";
import { readFeed } from "./feed-reader.ts";
import { emptyModel, type Model, modelAfter } from "./model.ts";

const withoutToken = "This page was opened without its token. Open the address that `kubectl s3 ui` has printed.";

/** Follows the plugin for as long as the page is open. */
export function useFeed(token: string | undefined): Model {
  const [model, happened] = useReducer(modelAfter, emptyModel);
  useEffect(() => {
    const onPlugin = (problem: string) => happened({ type: "plugin", problem });
    if (token === undefined) onPlugin(withoutToken);
    else readFeed(token, { onMessage: happened, onPlugin }).catch((error: unknown) => onPlugin(String(error)));
  }, [token]);
  return model;
}
