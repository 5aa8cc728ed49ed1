/** Pure: everything that the page knows, after each message of the server. */
import type { ClusterConnection, FeedMessage, PageState } from "../page/page-state.ts";
import type { RatesByPod } from "../page/rates.ts";
import { changed } from "../page/state-change.ts";
import { announcementOf } from "./announcement.ts";

export interface Model {
  /** Undefined: nothing has been read yet. */
  readonly state: PageState | undefined;
  readonly connection: ClusterConnection;
  readonly rates: RatesByPod;
  /** Why the page does not reach its server; empty: it does. */
  readonly serverProblem: string;
  /** What a screen reader says. */
  readonly announcement: string;
}

export type Happening =
  | FeedMessage
  | { readonly type: "server"; readonly problem: string }
  /** Nothing of what was shown may be shown any more. */
  | { readonly type: "forget" };

export const emptyModel: Model = {
  state: undefined,
  connection: { problem: "", since: "" },
  rates: {},
  serverProblem: "",
  announcement: "",
};

export function modelAfter(model: Model, happening: Happening): Model {
  switch (happening.type) {
    case "state":
      return withState(model, happening.state);
    case "change":
      return model.state === undefined ? model : withState(model, changed(model.state, happening.change));
    case "connection":
      return { ...model, connection: happening.connection };
    case "rates":
      return { ...model, rates: happening.rates };
    case "server":
      return model.serverProblem === happening.problem ? model : { ...model, serverProblem: happening.problem };
    case "forget":
      return emptyModel;
    case "alive":
      return model;
    default:
      return happening satisfies never;
  }
}

function withState(model: Model, state: PageState): Model {
  const announcement = model.state === undefined ? "" : announcementOf(model.state.volumes, state.volumes);
  return { ...model, state, announcement: announcement === "" ? model.announcement : announcement };
}
