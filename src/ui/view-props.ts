import type { PageState } from "../page/page-state.ts";
import type { Route } from "./route.ts";
import type { Search } from "./search.ts";
import type { Go } from "./use-route.ts";

/** What every view gets. */
export interface ViewProps {
  readonly state: PageState;
  readonly search: Search;
  readonly route: Route;
  readonly go: Go;
}
