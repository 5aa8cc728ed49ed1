/** Containers that are in the way of healing, on the real kernel. */
import { expect, it } from "vitest";
import { scenariosOf } from "./fuse-scenarios.ts";

const observe = scenariosOf("container");

it("LC-22 reports that a container may have the dead device while its path hangs, and finds the device afterwards", async () => {
  const because = "gave up after 5000 ms waiting for the path of the dead mount in the container";
  const unseen = [{ workload: "the-pod", because }];
  await expect(observe("behindHung")).resolves.toEqual({ isHeldWhileHung: false, unseen, isHeldLater: true });
});

it("SE-9 a Pod with more mount namespaces than the limit is healed without a failure if the others do not have the volume", async () => {
  await expect(observe("firstOfMany")).resolves.toEqual({ failures: [], error: "none" });
});

it("SE-9 a Pod with more mount namespaces than the limit gets a failure if one of the others has the volume", async () => {
  const because = "the Pod has more than 64 mount namespaces";
  const failures = [{ workload: "the-pod", mountPoint: "/", because, isUnsafe: false }];
  await expect(observe("lastOfMany")).resolves.toEqual({ failures, error: "ENOTCONN" });
});

it("LC-17 a hung look-up does not delay the end of the call, and its late result is closed", async () => {
  const seen = { whileHung: "Error: the program ends", descriptorsLeft: 0 };
  await expect(observe("endedLookUp")).resolves.toEqual(seen);
});
