import { expect, it } from "vitest";
import { startFailure } from "./start-failure.ts";

it.for([
  ["ErrImagePull", true],
  ["ImagePullBackOff", true],
  ["InvalidImageName", true],
  ["ErrImageNeverPull", true],
  ["CreateContainerConfigError", true],
  ["CreateContainerError", true],
  ["RunContainerError", true],
  ["CrashLoopBackOff", false],
  ["ContainerCreating", false],
  ["PodInitializing", false],
  [undefined, false],
] as const)("a container that waits because of %s fails to start: %s", ([reason, fails]) => {
  const failure = startFailure([{ ...(reason && { reason }), message: "why" }]);
  expect(failure).toEqual(fails ? { reason, message: "why" } : undefined);
});

it("takes the first of several containers that fails, also without a message", () => {
  const waiting = [
    undefined,
    { reason: "PodInitializing" },
    { reason: "ErrImagePull" },
    { reason: "InvalidImageName" },
  ];
  expect(startFailure(waiting)).toEqual({ reason: "ErrImagePull", message: "" });
  expect(startFailure([])).toBeUndefined();
});
