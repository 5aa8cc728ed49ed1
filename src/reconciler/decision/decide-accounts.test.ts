/** Table tests of the decision: two accounts that use one volume on one node, each with its own credentials (ID-1). */
import { describe, expect, it } from "vitest";
import type { ServiceAccount } from "../../core/identity.ts";
import type { PodUid } from "../../core/names.ts";
import type { Workload } from "../domain/workload.ts";
import { decide } from "./decide.ts";
import type { Observed } from "./decision.ts";
import {
  accountA,
  accountB,
  attachment,
  identityOf,
  longAgo,
  mp,
  ofAccounts,
  pod,
  seen,
  summary,
  volume as usual,
  w1,
  w2,
  w3,
  workload,
} from "./situation.fixture.ts";

type Row = readonly [situation: string, observed: Partial<Observed>, steps: readonly string[]];

const volume = { ...usual, credentials: ofAccounts };
const asA = (uid: PodUid, but: Partial<Workload> = {}) => workload(uid, { account: accountA.name, ...but });
const asB = (uid: PodUid, but: Partial<Workload> = {}) => workload(uid, { account: accountB.name, ...but });
const podOf = (uid: PodUid, account: ServiceAccount, but: Parameters<typeof pod>[1] = {}) =>
  pod(mp(uid), { identity: identityOf(account), ...but });
const ofA = { account: accountA };
const ofB = { account: accountB };
const lostByA = { lostAccount: accountA };
const lostByB = { lostAccount: accountB };
const running = { phase: "running", startedAt: longAgo } as const;
const requested = { move: { ...pod(mp(w1)).move, requested: "now" } };

function decided(observed: Partial<Observed>) {
  return decide(seen({ volume, ...observed }));
}

describe("ID-1 two accounts", () => {
  it.for([
    [
      "get an attachment and a Mountpoint Pod each",
      { workloads: [asA(w1), asB(w2)] },
      ["create w1#0", "attach w1#0: w1", "create w2#0", "attach w2#0: w2"],
    ],
    [
      "share only with workloads of their own",
      {
        workloads: [asA(w1), asB(w2), asA(w3)],
        attachments: [attachment({ [mp(w1)]: [w1] }, ofA), attachment({ [mp(w2)]: [w2] }, ofB)],
        mountpointPods: [podOf(w1, accountA), podOf(w2, accountB)],
      },
      ["rewrite w1#0: w1 w3"],
    ],
    [
      "keep an attachment each: theirs are no duplicates",
      {
        workloads: [asA(w1), asB(w2)],
        attachments: [attachment({ [mp(w1)]: [w1] }, ofA), attachment({ [mp(w2)]: [w2] }, ofB)],
        mountpointPods: [podOf(w1, accountA), podOf(w2, accountB)],
      },
      [],
    ],
    [
      "have duplicates merged within each of them only",
      {
        workloads: [asA(w1), asB(w2), asA(w3)],
        attachments: [
          attachment({ [mp(w1)]: [w1] }, ofA),
          attachment({ [mp(w2)]: [w2] }, ofB),
          attachment({ [mp(w3)]: [w3] }, { ...ofA, name: "s3pa-zz" }),
        ],
        mountpointPods: [podOf(w1, accountA), podOf(w2, accountB), podOf(w3, accountA)],
      },
      ["rewrite w1#0: w1, w3#0: w3", "detach"],
    ],
    [
      "each get back the Mountpoint Pod that was created for them (LC-9)",
      { workloads: [asA(w1, running), asB(w2, running)], mountpointPods: [podOf(w1, accountA), podOf(w2, accountB)] },
      ["attach w1#0: w1", "attach w2#0: w2"],
    ],
    [
      "do not get back that of the other one, whose attachment was lost, too (LC-9)",
      { workloads: [asB(w2, running)], mountpointPods: [podOf(w1, accountA)] },
      [],
    ],
    [
      "get back the one of their own sharers, of several without an attachment (LC-9)",
      { workloads: [asB(w3, running)], mountpointPods: [podOf(w1, accountA), podOf(w2, accountB)] },
      ["attach w2#0: w3"],
    ],
  ] as Row[])("%s", ([, observed, steps]) => {
    // A Mountpoint Pod without an attachment is annotated as orphaned after a while, whosever it is.
    expect(summary(decided(observed)).filter((step) => !step.startsWith("annotate"))).toEqual(steps);
  });
});

describe("DS-15 a workload whose PersistentVolume names another source of credentials by now", () => {
  const ended = pod(mp(w1), { phase: "failed", problem: { kind: "ended", cause: "has ended", fix: "" } });
  const identityOfNew = (but: Partial<Workload>, more: Partial<Observed> = {}) =>
    decided({
      workloads: [asA(w1, but)],
      attachments: [attachment({ [mp(w1)]: [w1] })],
      mountpointPods: [ended],
      ...more,
    }).steps.flatMap((step) => (step.do === "createMountpointPod" ? step.purpose.identity : []));

  it("keeps the identity of its mount while it runs", () => {
    expect(identityOfNew(running)).toEqual([ended.identity]);
  });

  it("gets the new one if it has no mount yet", () => {
    expect(identityOfNew({})).toEqual([identityOf(accountA)]);
  });

  it("gets the new one if nobody knows the old one any more", () => {
    expect(identityOfNew(running, { mountpointPods: [] })).toEqual([identityOf(accountA)]);
  });
});

describe("ID-1 a Mountpoint Pod of 2.x, which assigns workloads of all accounts to one", () => {
  const of2x = { identity: undefined, volumeId: undefined, driverVersion: "2.2.0" };
  const attachments = [attachment({ [mp(w1)]: [w1, w2] })];

  it("is left by workloads that wait: each account gets its own", () => {
    const steps = summary(decided({ workloads: [asA(w1), asB(w2)], attachments, mountpointPods: [pod(mp(w1), of2x)] }));
    // The next decision is about the other one.
    expect(steps).toEqual(["create w1#1", "rewrite w1#0: w2, w1#1: w1"]);
  });

  it("keeps running workloads, and none of them moves to a successor with the account of another", () => {
    const steps = summary(
      decided({
        workloads: [asA(w1, running), asB(w2, running)],
        attachments,
        mountpointPods: [pod(mp(w1), { ...of2x, ...requested })],
      }),
    );
    expect(steps.filter((step) => step.startsWith("create"))).toEqual([]);
  });
});

it("ID-1, LC-21 workloads of two accounts on one Mountpoint Pod do not move together", () => {
  const { steps } = decided({
    workloads: [asA(w1, running), asB(w2, running)],
    attachments: [attachment({ [mp(w1)]: [w1, w2] }, ofA)],
    mountpointPods: [podOf(w1, accountA, requested)],
  });
  expect(steps.filter((step) => step.do === "createMountpointPod")).toEqual([]);
  expect(steps).toContainEqual(expect.objectContaining({ do: "report", reason: "VolumeNotMoved" }));
});

it("ID-1, LC-21 a successor has the identity of the workloads that move to it", () => {
  const { steps } = decided({
    workloads: [asA(w1, running), asB(w2, running)],
    attachments: [attachment({ [mp(w1)]: [w1] }, ofA), attachment({ [mp(w2)]: [w2] }, ofB)],
    mountpointPods: [podOf(w1, accountA), podOf(w2, accountB, requested)],
  });
  expect(steps.filter((step) => step.do === "createMountpointPod")).toMatchObject([
    { purpose: { replaces: mp(w2), identity: identityOf(accountB) } },
  ]);
});

describe("ID-1 an attachment that has lost its account, as 2.x or its definition leaves it", () => {
  it.for([
    [
      "is shared by workloads of that account",
      {
        workloads: [asA(w1, running), asA(w2)],
        attachments: [attachment({ [mp(w1)]: [w1] }, lostByA)],
        mountpointPods: [podOf(w1, accountA)],
      },
      ["rewrite w1#0: w1 w2"],
    ],
    [
      "lists a further Mountpoint Pod where its own takes no workload, and keeps the one in use",
      {
        workloads: [asA(w1, running), asA(w2)],
        attachments: [attachment({ [mp(w1)]: [w1] }, lostByA)],
        mountpointPods: [podOf(w1, accountA, { noNewWorkload: true })],
      },
      ["create w2#0", "rewrite w1#0: w1, w2#0: w2"],
    ],
    [
      "is left to its account by workloads of another one",
      {
        workloads: [asA(w1, running), asB(w2)],
        attachments: [attachment({ [mp(w1)]: [w1] }, lostByA)],
        mountpointPods: [podOf(w1, accountA)],
      },
      ["create w2#0", "attach w2#0: w2"],
    ],
    [
      "is no duplicate of that of another account",
      {
        workloads: [asA(w1, running), asB(w2, running)],
        attachments: [attachment({ [mp(w1)]: [w1] }, lostByA), attachment({ [mp(w2)]: [w2] }, lostByB)],
        mountpointPods: [podOf(w1, accountA), podOf(w2, accountB)],
      },
      [],
    ],
    [
      "takes in duplicates of its account",
      {
        workloads: [asA(w1, running), asA(w2, running)],
        attachments: [
          attachment({ [mp(w1)]: [w1] }, lostByA),
          attachment({ [mp(w2)]: [w2] }, { ...ofA, name: "s3pa-zz" }),
        ],
        mountpointPods: [podOf(w1, accountA), podOf(w2, accountA)],
      },
      ["rewrite w1#0: w1, w2#0: w2", "detach"],
    ],
  ] as Row[])("%s", ([, observed, steps]) => {
    expect(summary(decided(observed))).toEqual(steps);
  });

  it("gets it back with the next change of its lists", () => {
    const { steps } = decided({
      workloads: [asA(w1, running), asA(w2)],
      attachments: [attachment({ [mp(w1)]: [w1] }, lostByA)],
      mountpointPods: [podOf(w1, accountA)],
    });
    const { authenticationSource, workloadNamespace, workloadServiceAccountName } = attachment({}, ofA).spec;
    const spec = { authenticationSource, workloadNamespace, workloadServiceAccountName };
    expect(steps).toMatchObject([{ do: "rewriteAttachment", spec }]);
  });
});

it("ID-1, DS-7 an attachment of something else that has the name of a new one keeps its Mountpoint Pods", () => {
  const { name } = attachment({}, ofA).metadata;
  const steps = decided({
    workloads: [asA(w1, running), asA(w2)],
    attachments: [attachment({ [mp(w1)]: [w1] }, { ...ofA, name, fsGroup: "edited by hand" })],
    mountpointPods: [podOf(w1, accountA)],
  });
  expect(summary(steps)).toEqual(["create w2#0", "attach w2#0: w2"]);
});
