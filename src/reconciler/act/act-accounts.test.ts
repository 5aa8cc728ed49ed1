/** Steps for attachments whose workloads use the credentials of their account (ID-1). */
import { expect, it } from "vitest";
import { silentLogger } from "../../runtime/log.ts";
import { withoutAccount } from "../decision/attachment-lists.fixture.ts";
import { decide } from "../decision/decide.ts";
import type { NewAttachment, ObservedAttachment } from "../decision/decision.ts";
import {
  accountA,
  accountB,
  attachment,
  identityOf,
  mp,
  ofAccounts,
  pod,
  seen,
  volume as usual,
  w1,
  w2,
  workload,
} from "../decision/situation.fixture.ts";
import { act } from "./act.ts";
import { fakeCluster, type Stored } from "./fake-cluster.fixture.ts";

const call = { signal: new AbortController().signal, log: silentLogger };
const volume = { ...usual, credentials: ofAccounts };
const ofA = attachment({ [mp(w1)]: [w1] }, { account: accountA });
const lostByA = { ...ofA, spec: withoutAccount(ofA.spec) };
const stored = (observed: ObservedAttachment) => observed as unknown as Stored;
const creation = {
  do: "createAttachment",
  attachment: ofA as unknown as NewAttachment,
  because: "test",
} as const;

it("ID-1 decides again, without an event, when an attachment with the same key has the name and has lost its account", async () => {
  const api = fakeCluster();
  api.view.workloads.put("shop/w1", "1", workload(w1));
  api.put(stored(lostByA));
  expect(await act(call, [creation], api.cluster)).toMatchObject({ kind: "again" });
  expect(api.events).toEqual([]);
});

it("ID-1 fails, with an event on the workloads, when the attachment that has the name is of another account", async () => {
  const api = fakeCluster();
  api.view.workloads.put("shop/w1", "1", workload(w1));
  const { spec } = attachment({}, { account: accountB });
  api.put(stored({ ...ofA, spec }));
  await expect(act(call, [creation], api.cluster)).rejects.toThrow("already exists");
  expect(api.events).toEqual([expect.stringMatching(/^w1: AttachmentRefused: /)]);
});

it("ID-1 writes the account that an attachment has lost together with the next change of its lists", async () => {
  const api = fakeCluster();
  api.put(stored(lostByA));
  const workloads = [w1, w2].map((uid) => workload(uid, { account: accountA.name }));
  const mountpointPods = [pod(mp(w1), { identity: identityOf(accountA) })];
  const { steps } = decide(
    seen({ volume, workloads, mountpointPods, attachments: [...api.view.attachments.values()] }),
  );
  expect(await act(call, steps, api.cluster)).toEqual({ kind: "done" });
  const [written] = [...api.view.attachments.values()];
  expect(written?.spec).toMatchObject({
    ...{ authenticationSource: "pod", workloadNamespace: "shop", workloadServiceAccountName: "a" },
    mountpointS3PodAttachments: { [mp(w1)]: [{ workloadPodUID: w1 }, { workloadPodUID: w2 }] },
  });
});
