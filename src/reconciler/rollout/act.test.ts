import { expect, it, vi } from "vitest";
import type { NodeName, PodName } from "../../core/names.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { silentLogger } from "../../runtime/log.ts";
import { pod } from "../decision/situation.fixture.ts";
import { emptyView } from "../observe/view.ts";
import { check, type Looking, look, performAll } from "./act.ts";
import type { Step } from "./decide.ts";
import type { Tracked } from "./tracker.ts";

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

it.for([
  ["the version of the request", "1", "uid of mp-w", false],
  ["another version", "2", "uid of mp-w", true],
  ["another Pod of the name", "1", "uid of its successor", true],
] as const)(
  "LC-21 a request has arrived unless the API server has %s",
  async ([, resourceVersion, uid, hasArrived]) => {
    const view = emptyView();
    view.mountpointPods.complete();
    const asked = { name: "mp-w" as PodName, uid: "uid of mp-w", resourceVersion: "1" } as Tracked;
    const all = new Map([[asked.name, asked]]);
    const seen = pod(asked.name, { resourceVersion: "1" });
    view.mountpointPods.put("mount-s3/mp-w", "1", seen);
    const found = { metadata: { name: asked.name, uid, resourceVersion } };
    // The view shows it only after the answer.
    const find = async () => {
      queueMicrotask(() => view.mountpointPods.put("mount-s3/mp-w", "2", { ...seen, resourceVersion: "2" }));
      return { object: found, version: "2" };
    };
    const cluster = { view, reader: { find }, asked: all, mountpointPods: { namespace: "mount-s3" } };
    await check(call, cluster as unknown as Parameters<typeof check>[1], asked);
    expect(all.size).toBe(hasArrived ? 1 : 0);
  },
);

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
