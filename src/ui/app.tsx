/** The whole page: what is wrong with it, overview, search, and one of the views. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { PageState } from "../page/page-state.ts";
import { EventsView } from "./events-view.tsx";
import type { Model } from "./model.ts";
import { NodesView } from "./nodes-view.tsx";
import { Notices } from "./notices.tsx";
import { Overview } from "./overview.tsx";
import { type Route, views } from "./route.ts";
import type { Search } from "./search.ts";
import { SearchBar } from "./search-bar.tsx";
import { totalsOf } from "./totals.ts";
import { RatesContext } from "./traffic.tsx";
import { type Go, useRoute } from "./use-route.ts";
import { VolumesView } from "./volumes-view.tsx";

interface AppProps {
  readonly model: Model;
  /** Undefined: nobody has logged in on this page. */
  readonly onLogOut?: (() => void) | undefined;
}

export function App({ model, onLogOut }: AppProps) {
  const [route, go] = useRoute();
  const { state } = model;
  return (
    <>
      <Top>
        <Links route={route} />
        <Live model={model} />
        {onLogOut && (
          <button class="log-out" type="button" onClick={onLogOut}>
            Log out
          </button>
        )}
      </Top>
      <Notices model={model} />
      <RatesContext.Provider value={model.rates}>
        {state === undefined ? <Waiting model={model} /> : <Content state={state} route={route} go={go} />}
      </RatesContext.Provider>
      <p class="hidden" role="status">
        {model.announcement}
      </p>
    </>
  );
}

export function Top({ children }: { readonly children?: ComponentChildren }) {
  return (
    <header class="top">
      <h1>S3 volumes</h1>
      {children}
    </header>
  );
}

const viewTitles = { volumes: "Volumes", nodes: "Nodes", events: "Events" } as const;

function Links({ route }: { readonly route: Route }) {
  return (
    <nav aria-label="Views">
      {views.map((view) => (
        <a key={view} href={`#/${view}`} aria-current={route.view === view ? "page" : undefined}>
          {viewTitles[view]}
        </a>
      ))}
    </nav>
  );
}

function Live({ model: { state, connection, serverProblem } }: { readonly model: Model }) {
  const isLive = state !== undefined && connection.problem === "" && serverProblem === "";
  return (
    <p class="live">
      <span class="context">{state?.context}</span>
      <span class={`health ${isLive ? "ok" : "waiting"}`}>{isLive ? "live" : "not live"}</span>
    </p>
  );
}

function Waiting({ model }: { readonly model: Model }) {
  return <main class="empty">{model.serverProblem === "" && <p>Reading the cluster …</p>}</main>;
}

interface ContentProps {
  readonly state: PageState;
  readonly route: Route;
  readonly go: Go;
}

function Content({ state, route, go }: ContentProps) {
  const [search, setSearch] = useState<Search>({ text: "", health: undefined });
  const totals = useMemo(() => totalsOf(state), [state]);
  const view = { state, search, route, go };
  return (
    <>
      <Overview totals={totals} health={search.health} onHealth={(health) => setSearch({ ...search, health })} />
      <SearchBar text={search.text} onText={(text) => setSearch({ ...search, text })} />
      {route.view === "volumes" && <VolumesView {...view} />}
      {route.view === "nodes" && <NodesView {...view} />}
      {route.view === "events" && <EventsView {...view} />}
    </>
  );
}
