/** Pure: what is shown, as the fragment of the address, so that Back, Forward and reload work. */

export const views = ["volumes", "nodes", "events"] as const;
export type View = (typeof views)[number];

export interface Route {
  readonly view: View;
  /** Name of the selected volume or node; empty: none. */
  readonly selected: string;
}

export function routeOf(fragment: string): Route {
  const [, view = "", selected = ""] = /^#\/(\w+)(?:\/(.*))?$/.exec(fragment) ?? [];
  return { view: views.find((each) => each === view) ?? "volumes", selected: decoded(selected) };
}

export function fragmentOf({ view, selected }: Route): string {
  return selected === "" ? `#/${view}` : `#/${view}/${encodeURIComponent(selected)}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
