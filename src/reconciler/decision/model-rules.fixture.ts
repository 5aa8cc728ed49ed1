/** What must hold at every write of the model of one volume on one node. Each function throws where a rule is broken. */
import { type AttachmentSpec, accountOf, attachmentName, holderOf, restoreAccount } from "../../core/attachment.ts";
import { accountIn } from "../../core/identity.ts";
import { isAlive } from "../../core/mountpoint-pod-state.ts";
import type { PodName, PodUid } from "../../core/names.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import { mayHaveStarted, needsVolumes, type Workload } from "../domain/workload.ts";
import { keyFieldsOf, newHolders } from "./attachment-lists.fixture.ts";
import type { Observed, ObservedAttachment } from "./decision.ts";
import type { Objects } from "./replica.fixture.ts";
import { accounts, node } from "./situation.fixture.ts";

interface Model {
  readonly truth: Objects;
  readonly binds: ReadonlyMap<PodUid, string>;
  readonly hasForeignAnnotations: boolean;
  /** What the leader had observed when it decided last. */
  readonly seen: Observed;
  listedOn(name: string): readonly Workload[];
  holdersOf(uid: PodUid): readonly PodName[];
  isBound(name: string): boolean;
}

/** Before the needs-unmount annotation is set. */
export function checkUnneeded(model: Model, now: ReportedMountpointPod): void {
  // A workload that is listed on another Mountpoint Pod, too, keeps that one.
  const hasNoOther = (uid: PodUid) => model.holdersOf(uid).every((holder) => holder === now.name);
  const user = model.listedOn(now.name).find(({ uid }) => hasNoOther(uid));
  if (isAlive(now) && user !== undefined) throw new Error(`${now.name} is needed by ${user.uid}`);
  // DS-14: whatever kubelet has reported, as long as the API server has the workload.
  const bound = [...model.binds].filter(([, holder]) => holder === now.name).map(([uid]) => uid);
  const loser = bound.find((uid) => model.truth.workloads.has(uid) && hasNoOther(uid));
  if (isServing(now) && loser !== undefined) throw new Error(`${now.name} is bound by ${loser}`);
}

/** Before the spec of an attachment is written; `now`: what it replaces. */
export function checkAssignments(model: Model, now: ObservedAttachment | undefined, spec: AttachmentSpec): void {
  const chosen = newHolders([...model.truth.attachments.values()], spec);
  const isAnnotated = chosen.some(([holder, uid]) => {
    const serving = model.truth.mountpointPods.get(holder);
    return serving?.needsUnmount && !restores(model, serving, uid);
  });
  if (isAnnotated && !model.hasForeignAnnotations)
    throw new Error("a workload is assigned to a Mountpoint Pod with the needs-unmount annotation");
  for (const [holder, uid] of chosen) checkChoice(model, holder, uid);
  checkAccounts(model, chosen, { now, spec });
}

/** DS-14: a workload that may have a bind mount of the Mountpoint Pod that was created for it. That bind mount keeps the source mounted. */
function restores({ seen }: Model, { createdFor }: ReportedMountpointPod, uid: PodUid): boolean {
  const user = seen.workloads.find((each) => each.uid === uid);
  return createdFor === uid && user !== undefined && mayHaveStarted(user);
}

/** LC-2, judged by what the reconciler had observed. A running workload gets its former Mountpoint Pod back in any state (LC-9). */
function checkChoice({ seen }: Model, holder: string, uid: PodUid): void {
  const chosen = seen.mountpointPods.find(({ name }) => name === holder);
  const user = seen.workloads.find((each) => each.uid === uid);
  if (chosen === undefined || user === undefined || mayHaveStarted(user)) return;
  const isItsOwn = chosen.createdFor === uid;
  if (!isAlive(chosen) || chosen.terminating) throw new Error(`${holder} has ended or is being deleted`);
  if (chosen.problem !== undefined && !isItsOwn) throw new Error(`${holder} ${chosen.problem.cause}`);
}

interface Write {
  readonly now: ObservedAttachment | undefined;
  readonly spec: AttachmentSpec;
}

/** ID-1: no workload gets, and no attachment begins to list, a Mountpoint Pod with the credentials of another account. */
function checkAccounts({ truth }: Model, chosen: readonly (readonly [string, PodUid])[], { now, spec }: Write): void {
  const had = Object.keys(now?.spec.mountpointS3PodAttachments ?? {});
  const listed = Object.keys(spec.mountpointS3PodAttachments).filter((holder) => !had.includes(holder));
  const ofWorkloads = chosen.map(([holder, uid]) => [holder, truth.workloads.get(uid)?.account] as const);
  const ofAttachment = listed.map((holder) => [holder, accountOf(spec).account?.name] as const);
  for (const [holder, account] of [...ofWorkloads, ...ofAttachment]) {
    const given = accountIn(truth.mountpointPods.get(holder)?.identity ?? "")?.name ?? account;
    if (account !== undefined && given !== account)
      throw new Error(`${holder} has the credentials of account ${given}, not ${account}`);
  }
}

/** Before a Mountpoint Pod is deleted. */
export function checkPodUnused(model: Model, now: ReportedMountpointPod): void {
  const { name } = now;
  if (model.listedOn(name).length > 0 && !model.hasForeignAnnotations)
    throw new Error(`${name} deleted under a workload`);
  // DS-14, also where an operator set the annotation, and whether or not the API server still has the workload.
  if (model.isBound(name) && isServing(now)) throw new Error(`${name} deleted under a bind mount`);
}

/** Before an attachment is deleted. */
export function checkAttachmentUnused(model: Model, now: ObservedAttachment): void {
  const users = [...model.truth.workloads.values()].filter(needsVolumes);
  const listed = users.filter(({ uid }) => holderOf(now.spec, uid) !== undefined);
  // A workload that a duplicate lists, too, loses nothing.
  if (listed.some(({ uid }) => model.holdersOf(uid).length < 2)) throw new Error("deleted under a workload");
}

/** Holds at any time, unless the test creates duplicates; and at rest in any case. */
export function checkAttachments({ truth }: Model): void {
  const all = [...truth.attachments.values()];
  const keys = all.map((each) => attachmentName({ node, ...keyFieldsOf(restoreAccount(each, accounts)) }));
  if (new Set(keys).size < keys.length) throw new Error("two attachments for one key");
  const listed = all.flatMap(({ spec }) => Object.values(spec.mountpointS3PodAttachments).flat());
  const uids = listed.map(({ workloadPodUID }) => workloadPodUID);
  if (new Set(uids).size < uids.length) throw new Error("a workload is listed twice");
}

/** Its mount-s3 serves, by what kubelet reports. */
function isServing({ phase, problem }: ReportedMountpointPod): boolean {
  return (
    phase === "running" &&
    (problem === undefined || !["crashing", "backingOff", "notRestarting", "ended"].includes(problem.kind))
  );
}
