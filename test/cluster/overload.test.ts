/** The reconciler as a process of its own, before an API server that refuses what it is asked to do. */
import { beforeAll, expect, it } from "vitest";
import { kinds } from "../../src/kube/kinds.ts";
import { openCluster } from "../support/cluster.ts";
import { type Faults, FaultyWay } from "../support/faulty-way.ts";
import { inParallel } from "../support/in-parallel.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { scaled } from "../support/scale.ts";
import { installAttachmentKind, long, Stage } from "../support/stage.ts";

const cluster = openCluster();
const volumes = scaled("volumes, each on two nodes, behind an overloaded API server", 25, 500);
const codes = [429, 503, 504].slice(0, scaled("answers of an overloaded API server", 1, 3)) as (429 | 503 | 504)[];

beforeAll(() => installAttachmentKind(cluster));

const fair: Faults = { fateOf: () => "passed", latenessMs: () => 0 };
/** From the contract: what an overloaded server may get in this time. */
const [seconds, mostRequests] = [20, 500];

it.for(codes)(
  `SC-6 ${2 * volumes} volumes on nodes before a server that answers %i: few requests in ${seconds} s, no events; all are served when it recovers`,
  { timeout: 300_000 + volumes * 1000 },
  async (code) => {
    await using stage = await Stage.open(cluster);
    const claims = await Promise.all(Array.from({ length: volumes }, () => stage.volume()));
    await inParallel(claims, async (claim) => {
      await stage.workload(`${claim}-1`, { claims: [claim] });
      await stage.workload(`${claim}-2`, { claims: [claim], node: stage.otherNode });
    });
    const fateOf = (method: string) => (method === "GET" ? "passed" : code);
    await using way = await FaultyWay.open(cluster.lab.layout.kubeconfig, { ...fair, fateOf });
    await using _ = await ReconcilerProcess.start(stage, { kubeconfig: way.kubeconfig });

    const [before, since] = [way.requests.length, performance.now()];
    const elapsedMs = () => performance.now() - since;
    await expect.poll(elapsedMs, { ...long, timeout: 120_000 }).toBeGreaterThan(1000 * seconds);
    const requests = way.requests.slice(before);
    expect(way.faults.length).toBeGreaterThan(0);
    expect(requests.length).toBeLessThan(mostRequests);
    expect(way.requests.filter(({ url }) => url?.includes("/events"))).toEqual([]);
    const events = await stage.client.list(stage.call, kinds.events, { namespace: stage.name });
    expect(events.filter(({ reason }) => reason === "MountpointPodRefused")).toEqual([]);

    way.become(fair);
    const served = async () => Object.keys(await stage.served()).length;
    await expect.poll(served, { ...long, timeout: 120_000 + volumes * 1000 }).toBe(2 * volumes);
  },
);
