/** Starts the page as the cluster serves it: with a login, unless a proxy has logged in. */
import { render } from "preact";
import { App, Top } from "./app.tsx";
import { LogIn } from "./log-in.tsx";
import { useClusterFeed } from "./use-cluster-feed.ts";

function ClusterPage() {
  const { model, refusal, token, logIn } = useClusterFeed();
  if (refusal === undefined) return <App model={model} onLogOut={token === undefined ? undefined : () => logIn()} />;
  return (
    <>
      <Top />
      <LogIn refusal={refusal} wasTried={token !== undefined} onToken={logIn} />
    </>
  );
}

const root = document.querySelector("#page");
if (root !== null) render(<ClusterPage />, root);
