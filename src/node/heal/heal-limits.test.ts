import { expect, it } from "vitest";
import { PodAllowance } from "./heal-limits.ts";

it("SE-9 lets a Pod have 64 mount namespaces, and says once that it has more", () => {
  const allowance = new PodAllowance();
  for (let namespaces = 1; namespaces <= 64; namespaces += 1) expect(allowance.enter()).toEqual({ isAllowed: true });
  const complaint = "the Pod has more than 64 mount namespaces";
  expect([allowance.enter(), allowance.enter()]).toEqual([{ isAllowed: false, complaint }, { isAllowed: false }]);
});

it("SE-9 lets a Pod have 128 mounts of the volume, in all its mount namespaces together", () => {
  const allowance = new PodAllowance();
  expect([allowance.replace(100), allowance.replace(28), allowance.replace(1)]).toEqual([
    undefined,
    undefined,
    "the Pod has more than 128 mounts of the volume",
  ]);
});
