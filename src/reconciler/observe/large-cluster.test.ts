/** SC-5: what is done for one volume on one node, and in one turn of the event loop, does not grow with the cluster. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import type { NodeName, PodUid } from "../../core/names.ts";
import { silentLogger } from "../../runtime/log.ts";
import { attachment, current, mp, now, volume, workload } from "../decision/situation.fixture.ts";
import { type VolumeOnNodeKey, volumeOnNodeFrom } from "../domain/volume-on-node.ts";
import type { Workload } from "../domain/workload.ts";
import { sweep } from "../sweep.ts";
import { observe } from "./observe.ts";
import { enqueueVolumesOnNodes } from "./triggers.ts";
import { emptyView, type View } from "./view.ts";

const policy = { driverVersion: "3.0.0", current, staleAfterMs: 120_000 };
const nodes = 3000;

/** One volume that a workload on every node uses. */
function largeView(workloadOf: (uid: PodUid, node: NodeName) => Workload): View {
  const view = emptyView();
  view.volumes.put(volume.name, "1", volume);
  view.claims.put("shop/data", "1", { namespace: "shop", name: "data", uid: "uid-of-claim", volume: volume.name });
  for (let at = 0; at < nodes; at += 1) {
    const uid = `uid-${at}` as PodUid;
    view.workloads.put(`shop/w${at}`, "1", workloadOf(uid, nodeAt(at)));
    const attached = attachment({ [mp(uid)]: [uid] });
    view.attachments.put(`s3pa-${at}`, "1", { ...attached, spec: { ...attached.spec, nodeName: nodeAt(at) } });
  }
  return view;
}

const nodeAt = (at: number) => `node-${at}` as NodeName;
const usual = (uid: PodUid, node: NodeName) => workload(uid, { node });

it("SC-5 looks at the workloads of its own node only, where every node uses the volume", () => {
  let touched = new Set<PodUid>();
  const counting = (uid: PodUid, node: NodeName) => {
    const note = (value: NodeName) => {
      touched.add(uid);
      return value;
    };
    return {
      ...usual(uid, node),
      get node() {
        return note(node);
      },
    };
  };
  const view = largeView(counting);
  touched = new Set();
  const observed = observe(view, volumeOnNodeFrom("node-7/data" as VolumeOnNodeKey), policy, now);
  expect(observed.workloads.map(({ uid }) => uid)).toEqual(["uid-7"]);
  expect([...touched].filter((uid) => uid !== "uid-7")).toEqual([]);
});

/** Counts turns of the event loop, and what happened in the busiest of them. */
async function busiestTurn(begin: (happens: () => void) => void, isDone: () => boolean): Promise<number> {
  let busiest = 0;
  let inTurn = 0;
  begin(() => {
    inTurn += 1;
    busiest = Math.max(busiest, inTurn);
  });
  while (!isDone()) {
    await nextTurn();
    inTurn = 0;
  }
  return busiest;
}

it("SC-5 a change of a volume that every node uses is queued in several turns of the event loop", async () => {
  const view = largeView(usual);
  const queued = new Set<VolumeOnNodeKey>();
  let note: (() => void) | undefined;
  const add = (key: VolumeOnNodeKey) => {
    queued.add(key);
    note?.();
  };
  using _ = enqueueVolumesOnNodes(view, { add });
  const busiest = await busiestTurn(
    (happens) => {
      note = happens;
      view.volumes.put(volume.name, "2", { ...volume, readOnly: true });
    },
    () => queued.size === nodes,
  );
  expect(busiest).toBeLessThanOrEqual(1000);
});

it("SC-5 the sweep gives way to timers and sockets", async () => {
  const view = largeView(usual);
  const stop = new AbortController();
  const call = { signal: stop.signal, log: silentLogger };
  const queued = new Set<VolumeOnNodeKey>();
  // A clock that advances with every look makes a turn of few keys.
  using _clock = stepping(1);
  const busiest = await busiestTurn(
    (happens) => {
      const addInBackground = (key: VolumeOnNodeKey) => {
        queued.add(key);
        happens();
      };
      sweep(call, view, { add: addInBackground, addInBackground }, 3_600_000).catch(() => undefined);
    },
    () => queued.size === nodes,
  );
  stop.abort();
  expect(busiest).toBeLessThan(20);
});

it("SC-5 the sweep gives way also among objects that add nothing, because they have an attachment", async () => {
  const stop = new AbortController();
  const call = { signal: stop.signal, log: silentLogger };
  const looked = new Set<PodUid>();
  let note: (() => void) | undefined;
  const view = largeView((uid, node) => ({
    ...usual(uid, node),
    get claims() {
      if (!looked.has(uid)) note?.();
      looked.add(uid);
      return ["data"];
    },
  }));
  looked.clear();
  using _clock = stepping(1);
  const busiest = await busiestTurn(
    (happens) => {
      note = happens;
      sweep(call, view, { add: () => undefined, addInBackground: () => undefined }, 3_600_000).catch(() => undefined);
    },
    () => looked.size === nodes,
  );
  stop.abort();
  expect(busiest).toBeLessThan(20);
});

/** Every look at the clock takes so many milliseconds. */
function stepping(ms: number): Disposable {
  const real = performance.now.bind(performance);
  let at = real();
  performance.now = () => {
    at += ms;
    return at;
  };
  return {
    [Symbol.dispose]: () => {
      performance.now = real;
    },
  };
}
