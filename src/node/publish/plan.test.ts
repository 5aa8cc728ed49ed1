import { expect, it } from "vitest";
import { planSource, planTarget } from "./plan.ts";

it.for([
  { target: "nothing", isReadOnly: false, wantsReadOnly: false, plan: "bind" },
  { target: "foreign", isReadOnly: false, wantsReadOnly: false, plan: "bind" },
  { target: "dead", isReadOnly: true, wantsReadOnly: true, plan: "bind" },
  { target: "hung", isReadOnly: false, wantsReadOnly: false, plan: "giveUp" },
  { target: "serving", isReadOnly: false, wantsReadOnly: false, plan: "keep" },
  { target: "serving", isReadOnly: true, wantsReadOnly: true, plan: "keep" },
  { target: "serving", isReadOnly: true, wantsReadOnly: false, plan: "keep" },
  { target: "serving", isReadOnly: false, wantsReadOnly: true, plan: "bind" },
] as const)("target $target, read-only $isReadOnly, wanted $wantsReadOnly → $plan", ({ plan, ...seen }) => {
  expect(planTarget({ ...seen, isV1: false }).do).toBe(plan);
});

it.for([
  { target: "serving", isReadOnly: false, wantsReadOnly: true, plan: "keepV1" },
  { target: "dead", isReadOnly: false, wantsReadOnly: false, plan: "giveUpV1" },
  { target: "hung", isReadOnly: false, wantsReadOnly: false, plan: "giveUp" },
] as const)("target $target, mounted by 1.x → $plan", ({ plan, ...seen }) => {
  expect(planTarget({ ...seen, isV1: true }).do).toBe(plan);
});

it.for([
  { source: "nothing", plan: "mount" },
  { source: "foreign", plan: "mount" },
  { source: "dead", plan: "mount" },
  { source: "serving", plan: "keep" },
] as const)("source $source → $plan", ({ source, plan }) => {
  expect(planSource(source).do).toBe(plan);
});
