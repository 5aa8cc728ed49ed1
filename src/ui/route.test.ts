import { expect, it } from "vitest";
import { fragmentOf, type Route, routeOf } from "./route.ts";

it.for<Route>([
  { view: "volumes", selected: "" },
  { view: "nodes", selected: "worker-1" },
  { view: "volumes", selected: "a/b#c d%" },
])("%j survives the address", (route) => {
  expect(routeOf(fragmentOf(route))).toEqual(route);
});

it.for(["", "#", "#/other", "#token=x", "#/volumes/%"])("%j shows the volumes", (fragment) => {
  expect(routeOf(fragment)).toEqual({ view: "volumes", selected: "" });
});
