/** The reconciler as a process of its own, on a way to the real API server on which things go wrong. */
import { beforeAll, expect, it } from "vitest";
import { openCluster } from "../support/cluster.ts";
import { CrowdedStage } from "../support/crowded-stage.ts";
import { codes, type Fate, type Faults, FaultyWay } from "../support/faulty-way.ts";
import { below, oneOf } from "../support/random.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { scaled } from "../support/scale.ts";
import { installAttachmentKind, isMarked, long, mountpointPodOf, Stage } from "../support/stage.ts";

const cluster = openCluster();
const roundsWanted = scaled("rounds of faults", 25, 400);

beforeAll(() => installAttachmentKind(cluster));

const writesAreHeld = (method: string): Fate => (method === "GET" ? "passed" : "held");

const fair: Faults = { fateOf: () => "passed", latenessMs: () => 0 };

/** Every third request fails, before or after the server took it, watches and lists among them; watches are late, each by itself. */
const foul: Faults = {
  fateOf: (method) =>
    below(3) > 0 ? "passed" : (oneOf<Fate>([...codes, method === "GET" ? "cut" : "lost"]) ?? "lost"),
  latenessMs: () => (below(4) === 0 ? below(400) : 0),
};

it(`DS-7 failed requests and late watches over ${roundsWanted} rounds: no Mountpoint Pod is forgotten unmarked, no attachment of a live workload deleted`, {
  timeout: 60_000 * (5 + roundsWanted / 10),
}, async () => {
  await using stage = await Stage.open(cluster);
  await using crowd = await CrowdedStage.open(stage);
  await using way = await FaultyWay.open(cluster.lab.layout.kubeconfig, foul);
  const flags = ["--cleanup-interval-seconds=1", "--stale-threshold-seconds=3"];
  await using _ = await ReconcilerProcess.start(stage, { kubeconfig: way.kubeconfig, flags });

  // And until enough has gone wrong: on a fair way nothing would be proven.
  for (let round = 0; round < roundsWanted || way.faults.length < roundsWanted / 4; round++) {
    await Promise.all(Array.from({ length: 1 + below(3) }, () => crowd.change()));
    // The next changes meet a view that is late, or one that has caught up.
    const isTime = async () => below(3) > 0 || (await crowd.unsettled()).length === 0;
    await expect.poll(isTime, long).toBe(true);
  }
  await expect.poll(() => crowd.unsettled(), long).toEqual([]);

  await crowd.leave();
  await expect.poll(() => crowd.leftovers(), long).toEqual([]);
  expect(crowd.violations).toEqual([]);
});

it("LC-8 workloads deleted right after they were created leave nothing that the next one of their kind would wait for", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  for (let round = 0; round < 5; round++) {
    await stage.deletePod(await stage.workload("app", { claims: [claim] }));
  }
  const { metadata } = await stage.workload("app", { claims: [claim] });
  await expect.poll(() => servedForGood(stage), long).toEqual([[metadata.uid]]);
});

it.for<{ write: string; path: RegExp; fate: Fate; happens: string }>([
  { write: "Mountpoint Pod", path: /\/pods$/, fate: "held", happens: "was never made" },
  { write: "Mountpoint Pod", path: /\/pods$/, fate: "lost", happens: "was made without an answer" },
  { write: "attachment", path: /\/mountpoints3podattachments$/, fate: "held", happens: "was never made" },
  { write: "attachment", path: /\/mountpoints3podattachments$/, fate: "lost", happens: "was made without an answer" },
])("LC-8 a workload deleted while its $write $happens holds up no other one of its kind", async ({ path, fate }) => {
  await using stage = await Stage.open(cluster);
  const fateOf = (method: string, url: string) => (method === "POST" && path.test(url) ? fate : "passed");
  await using way = await FaultyWay.open(cluster.lab.layout.kubeconfig, { ...fair, fateOf });
  await using _ = await ReconcilerProcess.start(stage, { kubeconfig: way.kubeconfig });
  const claim = await stage.volume();
  const first = await stage.workload("app", { claims: [claim] });
  await expect.poll(() => way.faults, long).not.toEqual([]);
  await stage.deletePod(first);
  way.become(fair);
  const { metadata } = await stage.workload("app", { claims: [claim] });
  await expect.poll(() => servedForGood(stage), long).toEqual([[metadata.uid]]);
});

/** Mountpoint Pods that stay, each with whom it serves. */
async function servedForGood(stage: Stage): Promise<readonly (readonly string[])[]> {
  const marked = new Set((await stage.mountpointPods()).filter(isMarked).map(({ metadata }) => metadata.name));
  const lists = Object.entries(await stage.served());
  return lists.flatMap(([name, uids]) => (marked.has(name) ? [] : [uids]));
}

it("OP-2 a reconcile loop that stands still makes /livez fail, and says which; it is alive again when it moves", async () => {
  await using stage = await Stage.open(cluster);
  await using way = await FaultyWay.open(cluster.lab.layout.kubeconfig, { ...fair, fateOf: writesAreHeld });
  const flags = ["--health-port=0", "--stall-limit-seconds=3"];
  await using reconciler = await ReconcilerProcess.start(stage, { kubeconfig: way.kubeconfig, flags });
  const livez = () => reconciler.probe("livez");
  expect(await livez()).toBe("200 ok");
  const claim = await stage.volume();
  const app = await stage.workload("app", { claims: [claim] });

  // Nobody answers its first write: the worker has the place in its hands and cannot go on.
  await expect.poll(livez, long).toMatch(/^503 reconciling: nothing has moved for \d+ s$/);
  way.become(fair);
  await expect.poll(livez, long).toBe("200 ok");
  await expect.poll(() => stage.served(), long).toEqual({ [mountpointPodOf(app, claim)]: [app.metadata.uid] });
});

it("OP-2 a reconciler that does nothing at all does not answer its liveness probe", async () => {
  await using stage = await Stage.open(cluster);
  await using reconciler = await ReconcilerProcess.start(stage, { flags: ["--health-port=0"] });
  const livez = () => reconciler.probe("livez");
  expect(await livez()).toBe("200 ok");
  reconciler.freeze();
  await expect(livez()).rejects.toThrow("timeout");
  reconciler.thaw();
  await expect.poll(livez, long).toBe("200 ok");
});

/** It takes a minute by itself. */
const longer = { ...long, timeout: 240_000 };

it("OP-2 a reconciler that has lost the API server for a minute is not ready, and says what it does not follow; it is alive", async () => {
  await using stage = await Stage.open(cluster);
  const way = await FaultyWay.open(cluster.lab.layout.kubeconfig, fair);
  const flags = ["--health-port=0"];
  await using reconciler = await ReconcilerProcess.start(stage, { kubeconfig: way.kubeconfig, flags });
  expect(await reconciler.probe("healthz")).toBe("200 ok");
  await way[Symbol.asyncDispose]();
  await expect.poll(() => reconciler.probe("healthz"), longer).toMatch(/^503 watch over \w+: interrupted for \d+ s$/);
  expect(await reconciler.probe("livez")).toBe("200 ok");
});

it("OP-2 a reconciler whose token is not accepted any more is not ready, is no leader, and counts the refusals; it recovers by itself", async () => {
  await using stage = await Stage.open(cluster);
  await using way = await FaultyWay.open(cluster.lab.layout.kubeconfig, fair);
  const lease = [`--pod-namespace=${stage.name}`, "--pod-name=a", "--require-lease"];
  const flags = ["--health-port=0", "--metrics", ...lease];
  await using reconciler = await ReconcilerProcess.start(stage, { kubeconfig: way.kubeconfig, flags });
  const metrics = () => reconciler.probe("metrics");
  await expect.poll(metrics, long).toMatch(/^s3_csi_leader 1$/m);
  expect(await metrics()).not.toContain('code="401"');
  way.become({ ...fair, fateOf: () => 401 });
  way.cutOff();
  await expect.poll(metrics, long).toMatch(/^s3_csi_leader 0$/m);
  await expect.poll(() => reconciler.probe("healthz"), longer).toMatch(/^503 watch over \w+: interrupted for \d+ s$/);
  const refused = /^s3_csi_api_requests_total\{verb="watch",resource="pods",code="401"\} [1-9]/m;
  await expect.poll(metrics, long).toMatch(refused);
  expect(await reconciler.probe("livez")).toBe("200 ok");
  way.become(fair);
  await expect.poll(() => reconciler.probe("healthz"), longer).toBe("200 ok");
  await expect.poll(metrics, long).toMatch(/^s3_csi_leader 1$/m);
});
