import { expect, it } from "vitest";
import { jsonLogger } from "./log.ts";

it.for([
  { verbosity: 0, levels: ["error", "info"] },
  { verbosity: 4, levels: ["error", "info", "debug"] },
])("with verbosity $verbosity writes $levels", ({ verbosity, levels }) => {
  const lines: string[] = [];
  const log = jsonLogger((line) => lines.push(line), verbosity).with({ volume: "v" });
  const error = new Error("outer", { cause: new Error("inner") });
  log.error("call failed", { error });
  log.info("serving");
  log.debug("call answered");
  const entries = lines.map((line) => JSON.parse(line) as { readonly level: string });
  expect(entries.map(({ level }) => level)).toEqual(levels);
  expect(entries[0]).toMatchObject({ message: "call failed", volume: "v", error: "outer: inner" });
});
