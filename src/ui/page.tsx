/** Starts the page as `kubectl s3 ui` serves it. */
import { render } from "preact";
import { App } from "./app.tsx";
import { takeToken } from "./token.ts";
import { useFeed } from "./use-feed.ts";

function PluginPage({ token }: { readonly token: string | undefined }) {
  return <App model={useFeed(token)} />;
}

const root = document.querySelector("#page");
if (root !== null) render(<PluginPage token={takeToken()} />, root);
