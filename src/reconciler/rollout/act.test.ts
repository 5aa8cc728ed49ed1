import { expect, it, vi } from "vitest";
import type { NodeName } from "../../core/names.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { silentLogger } from "../../runtime/log.ts";
import { type Looking, look, performAll } from "./act.ts";
import type { Step } from "./decide.ts";

const call = { signal: new AbortController().signal, log: silentLogger };
const name = "n1" as NodeName;
const started = new Date("2026-01-15T12:00:00Z");

function nodeWith(kernelVersion: string, ready = "True") {
  const conditions = [{ type: "Ready", status: ready }];
  return { status: { allocatable: { pods: "3", cpu: "1", memory: "1" }, nodeInfo: { kernelVersion }, conditions } };
}

/** An API server that needs a minute for each answer. */
function reading(node: object | undefined, allowsGap = false, refusal?: Error) {
  const asked: string[] = [];
  const answer = async (what: string, value: unknown) => {
    asked.push(what);
    vi.setSystemTime(Date.now() + 60_000);
    if (refusal !== undefined) throw refusal;
    return value;
  };
  const reader = { get: () => answer("node", node), listCached: () => answer("pods", []) };
  const looking = { reader, mountpointPods: { tolerations: [] }, rollout: { allowsGap } } as unknown as Looking;
  return { asked, looking };
}

it.for([
  ["a node with room", nodeWith("6.8"), false, ["node", "pods"], undefined],
  ["a node that is gone", undefined, false, ["node"], "notReady"],
  ["a node that is not ready", nodeWith("6.8", "False"), false, ["node"], "notReady"],
  ["an old kernel", nodeWith("5.14"), false, ["node"], "kernel"],
  ["an old kernel where the gap is allowed", nodeWith("5.14"), true, ["node", "pods"], "kernel"],
] as const)("LC-21 reads no more than it needs of %s", async ([, node, allowsGap, asked, obstacle]) => {
  using _ = vi.useFakeTimers({ now: started, toFake: ["Date"] }) && { [Symbol.dispose]: () => vi.useRealTimers() };
  const api = reading(node, allowsGap);
  const facts = await look(call, api.looking, name);
  expect(api.asked).toEqual(asked);
  expect(facts).toMatchObject({ obstacle, lookedAt: new Date(started.getTime() + 60_000 * asked.length) });
});

it("LC-21 begins on a node that it may not read", async () => {
  const { looking } = reading(undefined, false, new ApiError(403, "Forbidden", "no"));
  expect(await look(call, looking, name)).toMatchObject({ obstacle: undefined, free: undefined });
});

it("LC-21 a step that fails holds up no other", async () => {
  const steps = ["n1", "n2", "n3"].map((node): Step => ({ do: "look", node: node as NodeName }));
  const performed: Step[] = [];
  const performing = performAll(call, steps, async (step) => {
    performed.push(step);
    if (performed.length < 3) throw new Error(`problem ${performed.length}`);
  });
  await expect(performing).rejects.toThrow("problem 1");
  expect(performed).toEqual(steps);
});
