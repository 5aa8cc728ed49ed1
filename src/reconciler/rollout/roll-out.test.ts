/** The loop of the rollout, where the answers of the API server to its requests are lost. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type NodeName, type PodName, type PodUid, type PvName } from "../../core/names.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { jsonLogger } from "../../runtime/log.ts";
import { attachment, pod, volume, workload } from "../decision/situation.fixture.ts";
import { installation } from "../domain/mountpoint-pod/installation.fixture.ts";
import { volumeOnNodeKey } from "../domain/volume-on-node.ts";
import { emptyView } from "../observe/view.ts";
import { observedNow } from "../reconcile.ts";
import { type RollOutContext, Rollout } from "./roll-out.ts";
import { manualRollout } from "./rollout.fixture.ts";
import { trackedIn } from "./tracker.ts";

const ready = {
  status: {
    allocatable: { pods: "100", cpu: "8", memory: "64Gi" },
    nodeInfo: { kernelVersion: "6.8" },
    conditions: [{ type: "Ready", status: "True" }],
  },
};

let view: ReturnType<typeof emptyView>;
let rollout: Rollout;
let requests: string[];
/** What the API server does with a request to this Mountpoint Pod. */
let answer: (name: string) => Promise<unknown>;
/** How often the loop has decided again at once. */
let goesOn: number;
let ending: AbortController;
let running: Promise<void>;

beforeEach(() => {
  vi.useFakeTimers();
  view = emptyView();
  for (const store of Object.values(view)) if ("complete" in store) store.complete();
  rollout = new Rollout();
  requests = [];
  goesOn = 0;
  ending = new AbortController();
});

afterEach(async () => {
  ending.abort();
  await running;
  rollout[Symbol.dispose]();
  vi.useRealTimers();
});

const mountpointPod = (name: string) => `mp-${name}` as PodName;
const volumeOf = (name: string) => `pv-${name}` as PvName;
const placeOf = (name: string) => ({ node: `node-${name}` as NodeName, persistentVolume: volumeOf(name) });

/** A volume of a namespace, with a workload on a node of its own whose Mountpoint Pod is outdated. */
function add(name: string, namespace: string): void {
  const { node, persistentVolume } = placeOf(name);
  const uid = `workload-${name}` as PodUid;
  const sources = { [mountpointPod(name)]: { health: "serving" } } as const;
  const listing = attachment({ [mountpointPod(name)]: [uid] }, { name: `s3pa-${name}`, sources });
  const spec = { ...listing.spec, nodeName: node, persistentVolumeName: persistentVolume };
  view.volumes.put(persistentVolume, "1", { ...volume, name: persistentVolume, claim: `${namespace}/data` });
  view.workloads.put(uid, "1", workload(uid, { node, namespace, phase: "running" }));
  view.attachments.put(`s3pa-${name}`, "1", { ...listing, spec });
  putPod(name, { resourceVersion: "1" });
}

function putPod(name: string, but: Parameters<typeof pod>[1]): void {
  const settings = "before an upgrade";
  const changed = pod(mountpointPod(name), { ...placeOf(name), settings, ...but });
  view.mountpointPods.put(`mount-s3/${mountpointPod(name)}`, changed.resourceVersion, changed);
}

/** What the reconcile of its volume on its node tells the rollout. */
function note(name: string): void {
  const key = volumeOnNodeKey(placeOf(name));
  rollout.note(key, trackedIn(observedNow(context(), key)));
}

function patch(_call: unknown, _kind: unknown, { name }: { readonly name: string }): Promise<unknown> {
  requests.push(`patch ${name}`);
  return answer(name);
}

function context(): RollOutContext {
  const nothing = { [Symbol.dispose]: () => undefined };
  const find = async (_call: unknown, _kind: unknown, { name }: { name: string }) => {
    requests.push(`find ${name}`);
    const found = [...view.mountpointPods.values()].find((each) => each.name === name);
    const object = found && { metadata: { name, uid: found.uid, resourceVersion: found.resourceVersion } };
    return { object, version: "9" };
  };
  return {
    ...{ view, client: { patch }, reader: { get: async () => ready, find, listCached: async () => [] } },
    ...{ mountpointPods: installation, current: { hash: "now", retry: "" }, staleAfterMs: 120_000 },
    ...{ pool: { waitingFor: () => [] }, events: {}, pod: undefined },
    ...{ progress: { follow: () => nothing }, metrics: { rollout: () => nothing } },
    rollout: { ...manualRollout, strategy: "rolling", maxParallel: 1 },
  } as unknown as RollOutContext;
}

/** A loop without an end would never let the clock advance: it is ended after as many decisions as no test needs. */
function run(): void {
  const log = jsonLogger((line) => {
    if (!line.includes("the rollout goes on")) return;
    goesOn += 1;
    if (goesOn === 50) ending.abort();
  }, 4);
  running = rollout.run({ signal: ending.signal, log }, context());
}

const lost = () => Promise.reject(new ApiError(500, "InternalError", "no answer"));

it("LC-21 a request that did not arrive frees its place once moves have failed in its namespace", async () => {
  for (const name of ["a", "b"]) add(name, "full-of-failures");
  add("c", "other");
  answer = (name) => {
    if (name === mountpointPod("c")) return Promise.resolve();
    // Meanwhile a move fails that an operator has asked for, with the request that the rollout would make.
    const move = { ...pod(mountpointPod("b")).move, failed: ["rollout-now"] };
    putPod("b", { resourceVersion: "2", move });
    note("b");
    return lost();
  };
  run();
  await vi.advanceTimersByTimeAsync(5000);
  expect(requests).toEqual([
    `patch ${mountpointPod("a")}`,
    `find ${mountpointPod("a")}`,
    `patch ${mountpointPod("c")}`,
  ]);
});

it("LC-21 a request that arrived although its answer was lost keeps its place", async () => {
  for (const name of ["a", "b"]) add(name, "full-of-failures");
  add("c", "other");
  answer = () => {
    const requested = { ...pod(mountpointPod("a")).move, requested: "rollout-now" };
    const failed = { ...pod(mountpointPod("b")).move, failed: ["rollout-now"] };
    putPod("a", { resourceVersion: "2", move: requested });
    putPod("b", { resourceVersion: "2", move: failed });
    for (const name of ["a", "b"]) note(name);
    return lost();
  };
  run();
  await vi.advanceTimersByTimeAsync(5000);
  expect(requests).toEqual([`patch ${mountpointPod("a")}`]);
});

it("LC-21 a request is not repeated without end when its PersistentVolume has gone, and the rollout goes on with another", async () => {
  for (const name of ["a", "b"]) add(name, "shop");
  answer = (name) => {
    if (name === mountpointPod("b")) return Promise.resolve();
    view.volumes.remove(volumeOf("a"));
    return lost();
  };
  run();
  await vi.advanceTimersByTimeAsync(5000);
  expect(requests).toEqual([`patch ${mountpointPod("a")}`, `patch ${mountpointPod("b")}`]);
  // After a look at each node, and after the step that finds no volume.
  expect(goesOn).toBe(3);
});
