/** Pods that attachments name and that the view lacks: a Pod may be gone, or its watch event may not have arrived yet. */
import { describe, expect, it } from "vitest";
import type { PodUid } from "../../core/names.ts";
import { decide } from "../decision/decide.ts";
import type { Observed } from "../decision/decision.ts";
import { newStatuses } from "../decision/new-statuses.ts";
import { attachment, current, mp, now, pod, seen, summary, w1, w2, workload } from "../decision/situation.fixture.ts";
import { type VolumeOnNodeKey, volumeOnNodeFrom } from "../domain/volume-on-node.ts";
import { observe } from "./observe.ts";
import { PodChanges } from "./pod-changes.ts";
import { emptyView } from "./view.ts";

describe("an attachment names what is not yet observed:", () => {
  const attachments = [attachment({ [mp(w1)]: [w1] })];
  it.for([
    [
      "a workload: it keeps what it has",
      { attachments, mountpointPods: [pod(mp(w1))], notYetObserved: new Set([w1]) },
      [],
    ],
    [
      "a Mountpoint Pod: its workloads stay with it",
      { attachments, workloads: [workload(w1)], notYetObserved: new Set([mp(w1)]) },
      [],
    ],
    [
      "a Mountpoint Pod whose workload has ended: it cannot get the needs-unmount annotation yet, and stays listed",
      { attachments, notYetObserved: new Set([mp(w1)]) },
      [],
    ],
    [
      "a workload that shares with one that has ended",
      {
        attachments: [attachment({ [mp(w1)]: [w1, w2] })],
        mountpointPods: [pod(mp(w1))],
        notYetObserved: new Set([w2]),
      },
      ["rewrite w1#0: w2"],
    ],
  ] as [string, Partial<Observed>, readonly string[]][])("%s", ([, observed, steps]) => {
    const decision = decide(seen(observed));
    expect(summary(decision)).toEqual(steps);
    expect(decision.again).toBeUndefined();
  });

  it("a Mountpoint Pod: no status is written", () => {
    expect(newStatuses(seen({ attachments, notYetObserved: new Set([mp(w1)]) }))).toEqual([]);
    expect(newStatuses(seen({ attachments }))).toHaveLength(1);
  });
});

type View = ReturnType<typeof emptyView>;

function listed(view: View, askedAtMs: number): void {
  view.podChanges.begin(askedAtMs);
  view.podChanges.complete();
}

/** What is not yet observed of an attachment that the view has since the moment 1000. */
function notYetObservedAfter(happens: (view: View) => void): readonly string[] {
  const view = emptyView();
  view.mountpointPods.put("mount-s3/mp", "1", pod(mp(w1)));
  view.attachments.put("s3pa", "1", { ...attachment({ [mp(w1)]: [w1] }), observedAtMs: 1000 });
  happens(view);
  const policy = { driverVersion: "3.0.0", current, staleAfterMs: 120_000 };
  return [...observe(view, volumeOnNodeFrom("worker-1/data" as VolumeOnNodeKey), policy, now).notYetObserved];
}

describe("SC-7 a workload that an attachment names and the view lacks", () => {
  it("may still appear, however old the attachment is, while the last list of Pods was requested before the attachment was observed", () => {
    expect(notYetObservedAfter((view) => listed(view, 999))).toEqual([w1]);
  });

  it("may still appear while the last list of Pods was requested in the moment in which the attachment was observed", () => {
    expect(notYetObservedAfter((view) => listed(view, 1000))).toEqual([w1]);
  });

  it("may still appear before there is any list", () => {
    expect(notYetObservedAfter(() => undefined)).toEqual([w1]);
  });

  it("is gone if a list of Pods that was requested later lacks it", () => {
    expect(notYetObservedAfter((view) => listed(view, 1001))).toEqual([]);
  });

  it("may still appear while such a list is not complete", () => {
    expect(notYetObservedAfter((view) => view.podChanges.begin(1001))).toEqual([w1]);
  });

  it("is gone if it was seen to go", () => {
    const notYetObserved = notYetObservedAfter((view) => {
      listed(view, 999);
      view.workloads.put("shop/w1", "1", workload(w1));
      view.workloads.put("shop/w1", "2", workload("another" as PodUid));
    });
    expect(notYetObserved).toEqual([]);
  });

  it("may still appear although its Mountpoint Pod was seen to go", () => {
    const notYetObserved = notYetObservedAfter((view) => {
      listed(view, 999);
      view.mountpointPods.remove("mount-s3/mp");
    });
    expect(notYetObserved).toEqual([w1]);
  });
});

it("does not remember for ever what has gone", () => {
  const podChanges = new PodChanges();
  podChanges.begin(0);
  podChanges.complete();
  podChanges.removed("first", 0);
  podChanges.removed("second", 599_999);
  expect(podChanges.isGone("first", 0)).toBe(true);
  podChanges.removed("third", 600_000);
  expect(podChanges.isGone("first", 0)).toBe(false);
  expect(podChanges.isGone("second", 0)).toBe(true);
});
