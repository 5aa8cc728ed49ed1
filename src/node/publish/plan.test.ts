import { expect, it } from "vitest";
import { planSource, planTarget, planUnmount } from "./plan.ts";

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

it.for([
  { mountpointPod: "needed", binds: 0, publishing: false, plan: "leave" },
  { mountpointPod: "needed", binds: 1, publishing: true, plan: "leave" },
  { mountpointPod: "needsUnmount", binds: 0, publishing: false, plan: "unmount" },
  { mountpointPod: "needsUnmount", binds: 1, publishing: false, plan: "later" },
  { mountpointPod: "needsUnmount", binds: 0, publishing: true, plan: "later" },
  { mountpointPod: "gone", binds: 0, publishing: false, plan: "unmount" },
  { mountpointPod: "gone", binds: 2, publishing: false, plan: "later" },
  { mountpointPod: "gone", binds: 0, publishing: true, plan: "later" },
] as const)("Mountpoint Pod $mountpointPod, $binds binds, publishing $publishing → $plan", ({ plan, ...use }) => {
  expect(planUnmount(use).do).toBe(plan);
});
