/** Containers that are in the way of healing, on the real kernel. */
import { expect, it } from "vitest";
import { scenariosOf } from "./fuse-scenarios.ts";

const observe = scenariosOf("container");

it("LC-22 says that a container may have the dead device while the path in it hangs, and finds the device afterwards", async () => {
  const because = "gave up after 5000 ms waiting for the path of the dead mount in the container";
  const unseen = [{ workload: "the-pod", because }];
  await expect(observe("behindHung")).resolves.toEqual({ isHeldWhileHung: false, unseen, isHeldLater: true });
});
