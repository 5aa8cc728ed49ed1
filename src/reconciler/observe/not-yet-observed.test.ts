/** Pods that attachments name and that the view lacks: a Pod may be gone, or its watch event may not have arrived yet. */
import { describe, expect, it } from "vitest";
import type { PodUid } from "../../core/names.ts";
import { decide } from "../decision/decide.ts";
import type { Observed } from "../decision/decision.ts";
import { newStatuses } from "../decision/new-statuses.ts";
import { attachment, mp, now, pod, seen, summary, w1, w2, workload } from "../decision/situation.fixture.ts";
import { type VolumeOnNodeKey, volumeOnNodeFrom } from "../domain/volume-on-node.ts";
import { observe } from "./observe.ts";
import { PodChanges } from "./pod-changes.ts";
import { emptyView } from "./view.ts";

const since = "2026-01-15T11:59:00Z";
const until = new Date("2026-01-15T12:01:00Z");

describe("an attachment names what is not yet observed:", () => {
  const attachments = [attachment({ [mp(w1)]: [w1] }, { since })];
  it.for([
    [
      "a workload: it keeps what it has",
      { attachments, mountpointPods: [pod(mp(w1))], notYetObserved: new Map([[w1, until]]) },
      [],
    ],
    [
      "a Mountpoint Pod: its workloads stay with it",
      { attachments, workloads: [workload(w1)], notYetObserved: new Map([[mp(w1), until]]) },
      [],
    ],
    [
      "a Mountpoint Pod whose workload has ended: it cannot get the needs-unmount annotation yet, and stays listed",
      { attachments, notYetObserved: new Map([[mp(w1), until]]) },
      [],
    ],
    [
      "a workload that shares with one that has ended",
      {
        attachments: [attachment({ [mp(w1)]: [w1, w2] }, { since })],
        mountpointPods: [pod(mp(w1))],
        notYetObserved: new Map([[w2, until]]),
      },
      ["rewrite w1#0: w2"],
    ],
  ] as [string, Partial<Observed>, readonly string[]][])("%s", ([, observed, steps]) => {
    const decision = decide(seen(observed));
    expect(summary(decision)).toEqual(steps);
    expect(decision.again?.afterMs).toBe(60_000);
  });

  it("a Mountpoint Pod: no status is written", () => {
    expect(newStatuses(seen({ attachments, notYetObserved: new Map([[mp(w1), until]]) }))).toEqual([]);
    expect(newStatuses(seen({ attachments }))).toHaveLength(1);
  });
});

type View = ReturnType<typeof emptyView>;

function taken(view: View, time: string): void {
  view.podChanges.begin(Date.parse(time));
  view.podChanges.complete();
}

/** What is not yet observed of an attachment of that age. */
function unheardAfter(happens: (view: View) => void, at = now): readonly unknown[] {
  const view = emptyView();
  view.mountpointPods.put("mount-s3/mp", "1", pod(mp(w1)));
  view.attachments.put("s3pa", "1", attachment({ [mp(w1)]: [w1] }, { since }));
  happens(view);
  const policy = { driverVersion: "3.0.0", staleAfterMs: 120_000 };
  return [...observe(view, volumeOnNodeFrom("worker-1/data" as VolumeOnNodeKey), policy, at).notYetObserved];
}

describe("a workload that is not in the view", () => {
  it("was attached after the list of Pods: it may still appear, until the attachment is stale", () => {
    expect(unheardAfter((view) => taken(view, "2026-01-15T11:58:00Z"))).toEqual([[w1, until]]);
    expect(unheardAfter((view) => taken(view, "2026-01-15T11:58:00Z"), until)).toEqual([]);
  });

  it("was attached before that: it has gone", () => {
    expect(unheardAfter((view) => taken(view, "2026-01-15T11:59:01Z"))).toEqual([]);
  });

  it("was attached in the future, by a clock that is far ahead: that is not waited for", () => {
    expect(unheardAfter((view) => taken(view, "2026-01-15T11:00:00Z"), new Date("2026-01-15T11:57:01Z"))).toEqual([
      [w1, until],
    ]);
    expect(unheardAfter((view) => taken(view, "2026-01-15T11:00:00Z"), new Date("2026-01-15T11:57:00Z"))).toEqual([]);
  });

  it("was seen to go", () => {
    const notYetObserved = unheardAfter((view) => {
      taken(view, "2026-01-15T11:58:00Z");
      view.workloads.put("shop/w1", "1", workload(w1));
      view.workloads.put("shop/w1", "2", workload("another" as PodUid));
    });
    expect(notYetObserved).toEqual([]);
  });

  it("has a Mountpoint Pod that was seen to go", () => {
    const notYetObserved = unheardAfter((view) => {
      taken(view, "2026-01-15T11:58:00Z");
      view.mountpointPods.remove("mount-s3/mp");
    });
    expect(notYetObserved).toEqual([[w1, until]]);
  });
});

it("does not remember for ever what has gone", () => {
  const podChanges = new PodChanges();
  podChanges.begin(0);
  podChanges.complete();
  podChanges.removed("first", 0);
  podChanges.removed("second", 599_999);
  expect(podChanges.mayAppear("first", 0)).toBe(false);
  podChanges.removed("third", 600_000);
  expect(podChanges.mayAppear("first", 0)).toBe(true);
  expect(podChanges.mayAppear("second", 0)).toBe(false);
});
