import { expect, it } from "vitest";
import { planUnmount } from "./plan-unmount.ts";

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
