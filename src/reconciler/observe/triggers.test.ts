import { describe, expect, it } from "vitest";
import type { NodeName, PvName } from "../../core/names.ts";
import { silentLogger } from "../../runtime/log.ts";
import {
  attachment,
  current,
  mp,
  node,
  now,
  pod,
  volume,
  w1,
  w2,
  w3,
  workload,
} from "../decision/situation.fixture.ts";
import { type VolumeOnNodeKey, volumeOnNodeFrom } from "../domain/volume-on-node.ts";
import { sweep } from "../sweep.ts";
import { observe } from "./observe.ts";
import { enqueueVolumesOnNodes } from "./triggers.ts";
import { emptyView, type View } from "./view.ts";

const here = "worker-1/data" as VolumeOnNodeKey;
const claim = { namespace: "shop", name: "data", uid: "uid-of-claim", volume: volume.name };

/** How each kind of object gets into the view. */
const arrives: Readonly<Record<string, (view: View, version?: string) => void>> = {
  workload: (view, version = "1") => view.workloads.put("shop/w1", version, workload(w1)),
  claim: (view, version = "1") => view.claims.put("shop/data", version, claim),
  volume: (view, version = "1") => view.volumes.put("data", version, volume),
  attachment: (view, version = "1") => view.attachments.put("s3pa", version, attachment({ [mp(w1)]: [w1] })),
  mountpointPod: (view, version = "1") => view.mountpointPods.put("mount-s3/mp", version, pod(mp(w1))),
};

const leaves: Readonly<Record<string, (view: View) => void>> = {
  workload: (view) => view.workloads.remove("shop/w1"),
  attachment: (view) => view.attachments.remove("s3pa"),
  mountpointPod: (view) => view.mountpointPods.remove("mount-s3/mp"),
};

/** The keys that are queued because of what happens last. */
function queuedAfter(before: readonly string[], happens: (view: View) => void): readonly VolumeOnNodeKey[] {
  const view = emptyView();
  for (const kind of before) arrives[kind]?.(view);
  const queued = new Set<VolumeOnNodeKey>();
  using _ = enqueueVolumesOnNodes(view, { add: (key) => queued.add(key) });
  happens(view);
  return [...queued];
}

describe("the volume of a workload on its node is queued when the last of these arrives", () => {
  it.for(["workload", "claim", "volume"])("%s", (last) => {
    const others = ["workload", "claim", "volume"].filter((kind) => kind !== last);
    expect(queuedAfter(others, (view) => arrives[last]?.(view))).toEqual([here]);
    expect(queuedAfter(others.slice(0, 1), (view) => arrives[last]?.(view))).toEqual([]);
  });
});

it.for(["attachment", "mountpointPod"])("a change of a %s queues its volume on its node", (kind) => {
  expect(queuedAfter([], (view) => arrives[kind]?.(view))).toEqual([here]);
  expect(queuedAfter([kind], (view) => arrives[kind]?.(view, "2"))).toEqual([here]);
  expect(queuedAfter([kind], (view) => leaves[kind]?.(view))).toEqual([here]);
});

it("LC-10 a workload that ends queues every volume on its node that lists it, although its claims are gone", () => {
  expect(queuedAfter(["workload", "attachment"], (view) => leaves["workload"]?.(view))).toEqual([here]);
});

it("a volume that changes is queued for every node with an attachment of it", () => {
  expect(queuedAfter(["volume", "attachment"], (view) => arrives["volume"]?.(view, "2"))).toEqual([here]);
});

it("a workload that is not scheduled queues nothing", () => {
  const unscheduled = { ...workload(w1), node: undefined };
  expect(queuedAfter(["claim", "volume"], (view) => view.workloads.put("shop/w1", "1", unscheduled))).toEqual([]);
});

it("observes the workloads on the node with a claim bound to the volume, and the listed workloads", () => {
  const view = emptyView();
  for (const kind of ["claim", "volume", "mountpointPod"]) arrives[kind]?.(view);
  view.workloads.put("shop/w1", "1", workload(w1));
  view.workloads.put("shop/w2", "1", workload(w2, { claims: ["other"] }));
  view.workloads.put("shop/w3", "1", workload(w3, { node: "worker-2" as NodeName }));
  view.attachments.put("s3pa", "1", attachment({ [mp(w1)]: [w1, w2] }));

  const policy = { driverVersion: "3.0.0", current, staleAfterMs: 1 };
  const observed = observe(view, volumeOnNodeFrom(here), policy, now);
  expect(observed).toMatchObject({ now, node, volume, ...policy });
  expect(observed.workloads.map(({ uid, claims }) => [uid, ...claims])).toEqual([
    [w1, "data"],
    [w2, "other"],
  ]);
  expect(observed.attachments).toHaveLength(1);
  expect(observed.mountpointPods).toHaveLength(1);
});

it("the stale cleanup queues every volume on every node and logs the word cleanup", async () => {
  const view = emptyView();
  for (const kind of ["workload", "claim", "volume"]) arrives[kind]?.(view);
  view.mountpointPods.put("mount-s3/mp", "1", pod(mp(w1), { persistentVolume: "orphan" as PvName }));
  const stop = new AbortController();
  const swept = new Set<VolumeOnNodeKey>();
  const lines: string[] = [];
  const log = {
    ...silentLogger,
    info: (message: string) => {
      lines.push(message);
      stop.abort();
    },
  };
  const queue = { add: () => undefined, addInBackground: (key: VolumeOnNodeKey) => swept.add(key) };
  await sweep({ signal: stop.signal, log }, view, queue, 1);
  expect([...swept].toSorted()).toEqual([here, "worker-1/orphan"]);
  expect(lines).toEqual([expect.stringContaining("cleanup")]);
});

it("at the beginning of a term, volumes of workloads that no attachment lists are queued before all others", async () => {
  const view = emptyView();
  for (const kind of ["claim", "volume", "attachment", "mountpointPod"]) arrives[kind]?.(view);
  view.workloads.put("shop/w1", "1", workload(w1));
  // Nothing on its node yet; and one that comes to a node where another workload uses the volume already.
  view.workloads.put("shop/w2", "1", workload(w2, { node: "worker-2" as NodeName }));
  const other = attachment({ [mp(w1)]: [w1] });
  view.attachments.put("s3pa-3", "1", { ...other, spec: { ...other.spec, nodeName: "worker-3" as NodeName } });
  view.workloads.put("shop/w3", "1", workload(w3, { node: "worker-3" as NodeName }));
  const stop = new AbortController();
  const queued: string[] = [];
  const queue = {
    add: (key: VolumeOnNodeKey) => queued.push(`first ${key}`),
    addInBackground: (key: VolumeOnNodeKey) => {
      queued.push(`background ${key}`);
      if (queued.length === 5) stop.abort();
    },
  };
  await sweep({ signal: stop.signal, log: silentLogger }, view, queue, 3_600_000);
  expect(queued).toEqual([
    "first worker-2/data",
    "first worker-3/data",
    `background ${here}`,
    "background worker-3/data",
    "background worker-2/data",
  ]);
});

it("a volume with the handle of another volume queues the other volume on its nodes", () => {
  const other = { ...volume, name: "other" as PvName };
  const queued = queuedAfter(["workload", "claim", "volume"], (view) => view.volumes.put("other", "1", other));
  expect(queued).toEqual([here]);
});
