import { expect, it } from "vitest";
import { PodAllowance } from "./swap-limits.ts";

it("SE-9 enters 64 mount namespaces of a Pod, and reports once that there are more", () => {
  const allowance = new PodAllowance();
  for (let namespaces = 1; namespaces <= 64; namespaces += 1) expect(allowance.enter()).toBe(true);
  expect(allowance.enter()).toBe(false);
  const complaint = "the Pod has more than 64 mount namespaces";
  expect([allowance.tooMany(), allowance.tooMany()]).toEqual([complaint, undefined]);
  expect(allowance.unentered).toBeUndefined();
});

it("SE-9 reads at most 32 MiB of the tables of namespaces that are not entered, and 2 MiB of each", () => {
  const allowance = new PodAllowance();
  const mebibyte = 2 ** 20;
  expect(allowance.unentered).toEqual({ mounts: 10_000, bytes: 2 * mebibyte });
  allowance.hasRead(31 * mebibyte);
  expect(allowance.unentered?.bytes).toBe(mebibyte);
  allowance.hasRead(mebibyte);
  expect(allowance.unentered).toBeUndefined();
});

it("SE-9 replaces at most 128 mounts of the volume, in all mount namespaces of a Pod together", () => {
  const allowance = new PodAllowance();
  expect([allowance.replace(100), allowance.replace(28), allowance.replace(1)]).toEqual([
    undefined,
    undefined,
    "the Pod has more than 128 mounts of the volume",
  ]);
});
