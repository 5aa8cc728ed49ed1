import { useLayoutEffect, useState } from "preact/hooks";
import { fragmentOf, type Route, routeOf } from "./route.ts";

export type Go = (route: Route) => void;

export function useRoute(): readonly [Route, Go] {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  // Not useEffect, which runs after the first paint: the address may have changed by then.
  useLayoutEffect(() => {
    const read = () => setRoute(routeOf(location.hash));
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);
  const go = (next: Route) => {
    // Steps through a list are no history: Back leads to the view before.
    if (next.view === route.view) history.replaceState(undefined, "", fragmentOf(next));
    else history.pushState(undefined, "", fragmentOf(next));
    setRoute(next);
  };
  return [route, go];
}
