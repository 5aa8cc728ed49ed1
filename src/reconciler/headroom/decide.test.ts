import { describe, expect, it } from "vitest";
import { headroomPodName, type PodName, type PodUid } from "../../core/names.ts";
import { now, volume, w1 } from "../decision/situation.fixture.ts";
import type { HeadroomPod } from "../domain/mountpoint-pod/headroom-pod.ts";
import type { Reservation } from "../domain/reservation.ts";
import { bindingTimeoutMs, type ClaimedVolume, decide, type Observed, type Step } from "./decide.ts";

const long = new Date(now.getTime() - 3_600_000);

function reservation(but: Partial<Reservation> = {}): Reservation {
  const usual = { uid: w1, name: "app", namespace: "shop", claims: ["data"], createdAt: long };
  return { ...usual, gated: true, otherGates: [], labelled: false, ...but };
}

function headroomPod(but: Partial<HeadroomPod> = {}): HeadroomPod {
  const name = headroomPodName(w1, volume.name);
  return { name, uid: "u" as PodUid, workload: w1, ended: false, terminating: false, ...but };
}

const claimed = (as: ClaimedVolume["volume"] = volume): ClaimedVolume => ({ claim: "data", volume: as });

function seen(but: Partial<Observed>): Observed {
  return { now, enabled: true, reservation: undefined, volumes: [claimed()], headroomPods: [], ...but };
}

const summary = (observed: Partial<Observed>) => decide(seen(observed)).steps.map((step: Step) => step.do);

describe("a workload with the scheduling gate", () => {
  it("is labelled, gets its headroom Pod and loses its gate, in this order", () => {
    expect(summary({ reservation: reservation() })).toEqual(["labelWorkload", "createHeadroomPod", "removeGate"]);
  });

  it("continues where a reconciler that died stopped", () => {
    expect(summary({ reservation: reservation({ labelled: true }) })).toEqual(["createHeadroomPod", "removeGate"]);
    const made = { reservation: reservation({ labelled: true }), headroomPods: [headroomPod()] };
    expect(summary(made)).toEqual(["removeGate"]);
  });

  it("gets one headroom Pod for each of its volumes", () => {
    const other = { ...volume, name: "other" as typeof volume.name };
    const { steps } = decide(seen({ reservation: reservation(), volumes: [claimed(), claimed(other)] }));
    expect(steps.flatMap((step) => (step.do === "createHeadroomPod" ? step.volume.name : []))).toEqual([
      "data",
      "other",
    ]);
  });

  it("gets another headroom Pod for one that has ended, and does not wait for one that is terminating", () => {
    const labelled = reservation({ labelled: true });
    expect(summary({ reservation: labelled, headroomPods: [headroomPod({ ended: true })] })).toEqual([
      "deleteHeadroomPod",
      "createHeadroomPod",
      "removeGate",
    ]);
    expect(summary({ reservation: labelled, headroomPods: [headroomPod({ terminating: true })] })).toEqual([
      "removeGate",
    ]);
  });

  it.for([
    {
      what: "a refused volume",
      as: { name: volume.name, refused: "PersistentVolume data: bad." },
      says: "PersistentVolume data: bad.",
    },
    { what: "an unbound claim", as: "unbound", says: "PersistentVolumeClaim data: it is not bound" },
    { what: "a volume of another driver", as: "foreign", says: "uses no volume of this driver" },
  ] as const)("is scheduled without headroom for $what, and gets an event that says why", ({ as, says }) => {
    const { steps } = decide(seen({ reservation: reservation(), volumes: [claimed(as)] }));
    expect(steps.map((step) => step.do)).toEqual(["report", "removeGate"]);
    expect(steps[0]?.because).toContain(says);
  });

  it("loses its gate also without any claim", () => {
    expect(summary({ reservation: reservation({ claims: [] }), volumes: [] })).toEqual(["report", "removeGate"]);
  });

  it("gets headroom for its valid volumes in spite of a refused one, and no event about volumes of other drivers", () => {
    const volumes = [claimed({ name: volume.name, refused: "bad" }), claimed(), claimed("foreign")];
    const expected = ["report", "labelWorkload", "createHeadroomPod", "removeGate"];
    expect(summary({ reservation: reservation(), volumes })).toEqual(expected);
  });

  it("waits a limited time for a claim to be bound", () => {
    const createdAt = new Date(now.getTime() - 4000);
    const volumes = [claimed(), claimed("unbound")];
    expect(decide(seen({ reservation: reservation({ createdAt }), volumes }))).toEqual({
      steps: [],
      again: { afterMs: bindingTimeoutMs - 4000, because: "a claim is not bound yet" },
    });
  });

  it("does not wait where every claim is bound, however young the workload is", () => {
    const { steps, again } = decide(seen({ reservation: reservation({ createdAt: now }), volumes: [claimed()] }));
    expect(again).toBeUndefined();
    expect(steps.map((step) => step.do)).toEqual(["labelWorkload", "createHeadroomPod", "removeGate"]);
  });

  it("waits no longer than that for a server whose clock is ahead, and not at all if it is far ahead", () => {
    const volumes = [claimed(), claimed("unbound")];
    const ahead = (ms: number) =>
      decide(seen({ reservation: reservation({ createdAt: new Date(now.getTime() + ms) }), volumes }));
    expect(ahead(bindingTimeoutMs).again?.afterMs).toBe(bindingTimeoutMs);
    expect(ahead(3_600_000).again).toBeUndefined();
    expect(ahead(3_600_000).steps.map((step) => step.do)).toContain("removeGate");
  });
});

describe("a headroom Pod", () => {
  const free = reservation({ gated: false, labelled: true });

  it("stays until the workload runs, and is not created again", () => {
    expect(summary({ reservation: free, headroomPods: [headroomPod()] })).toEqual([]);
    expect(summary({ reservation: free })).toEqual([]);
    expect(summary({ reservation: free, headroomPods: [headroomPod({ ended: true })] })).toEqual(["deleteHeadroomPod"]);
  });

  it("is deleted once, when the workload runs or is gone", () => {
    const others = [headroomPod(), headroomPod({ name: "hr-other" as PodName })];
    expect(summary({ headroomPods: others })).toEqual(["deleteHeadroomPod", "deleteHeadroomPod"]);
    expect(summary({ headroomPods: [headroomPod({ terminating: true })] })).toEqual([]);
  });
});

describe("where headroom is turned off", () => {
  it("headroom Pods of an earlier configuration are deleted, and a gated workload gets an event", () => {
    const { steps } = decide(seen({ enabled: false, reservation: reservation(), headroomPods: [headroomPod()] }));
    expect(steps.map((step) => step.do)).toEqual(["deleteHeadroomPod", "report"]);
    expect(steps[1]).toMatchObject({ reason: "HeadroomOff" });
    expect(steps[1]?.because).toContain("Set the chart value mountpointPod.headroom.enabled, or remove the gate");
  });

  it("a workload without the gate is left alone", () => {
    expect(summary({ enabled: false, reservation: reservation({ gated: false, labelled: true }) })).toEqual([]);
  });
});
