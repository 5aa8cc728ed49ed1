import { expect, it } from "vitest";
import { choosePidNamespace } from "./pid-namespace.ts";

it.for([
  { usual: "private", inHostPids: false, wanted: undefined, chosen: "private" },
  { usual: "private", inHostPids: true, wanted: "host", chosen: "host" },
  { usual: "host", inHostPids: true, wanted: undefined, chosen: "host" },
  { usual: "host", inHostPids: true, wanted: "private", chosen: "private" },
] as const)("usually $usual, the volume wants $wanted → $chosen", ({ wanted, chosen, ...offered }) => {
  expect(choosePidNamespace(offered, wanted)).toBe(chosen);
});

it("refuses what the node plugin cannot do, and names the value to set", () => {
  expect(() => choosePidNamespace({ usual: "private", inHostPids: false }, "host")).toThrow(
    expect.objectContaining({ kind: "invalid", hint: expect.stringContaining("node.hostPID to true") }),
  );
});
