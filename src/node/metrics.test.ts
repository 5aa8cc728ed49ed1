import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { NodeMetrics } from "./metrics.ts";

it("OP-3 counts publishes for as long as they wait for a step, also if the step fails", async () => {
  const registry = new Registry();
  const metrics = new NodeMetrics(registry);
  const waiting = async () =>
    Object.fromEntries(
      Array.from((await registry.metrics()).matchAll(/^s3_csi_publishes_waiting\{step="(\w+)"\} (\d)$/gm), (found) =>
        found.slice(1, 3),
      ),
    );
  const none = { attachment: "0", pod: "0", credentials: "0", mounter: "0", mount: "0", bind: "0" };
  expect(await waiting()).toEqual(none);
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const steps = [metrics.step("pod", first.promise), metrics.step("pod", second.promise)];
  expect(await waiting()).toEqual({ ...none, pod: "2" });
  first.resolve();
  second.reject(new Error("no Pod"));
  await Promise.allSettled(steps);
  expect(await waiting()).toEqual(none);
});
