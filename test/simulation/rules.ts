/** What must hold at every write of a reconciler, whatever its caches show. */
import { duplicatesOf } from "../../src/core/attachment.ts";
import type { PodUid } from "../../src/core/names.ts";
import { kinds, type MountpointS3PodAttachment, type Pod } from "../../src/kube/kinds.ts";
import type { ObservedAttachment } from "../../src/reconciler/decision/decision.ts";
import { needsVolumes, workloadFrom } from "../../src/reconciler/domain/workload.ts";
import type { ApiServer, Write, Writer } from "./api-server.ts";
import { BrokenRule } from "./broken-rule.ts";
import type { SimulatedNode } from "./node.ts";
import { isAnnotated, isDown, ofDriver } from "./pod-state.ts";
import { RolloutRules } from "./rollout-rules.ts";
import { WaitingRules } from "./waiting-rules.ts";

export interface Watched {
  readonly cluster: Cluster;
  readonly now: () => Date;
  /** Who holds the lease; undefined: nobody. */
  readonly leader: () => string | undefined;
  /** False: every replica works, as without a right to the lease. */
  readonly hasElection: boolean;
  /** Whether attachments have had duplicates: the reconciler merges them, which takes several writes. */
  readonly hasDuplicates: () => boolean;
  /** Whether the lease was deleted a moment ago, so that two replicas may lead. */
  readonly isLeaseUnsettled: () => boolean;
}

interface Cluster {
  readonly server: ApiServer;
  readonly nodes: readonly SimulatedNode[];
}

export class Rules {
  readonly #world: Watched;
  readonly #rollout: RolloutRules;
  readonly #waiting: WaitingRules;

  constructor(world: Watched) {
    this.#world = world;
    this.#rollout = new RolloutRules(world);
    this.#waiting = new WaitingRules(world);
  }

  /** Called before the write is performed. */
  check(write: Write): void {
    const world = this.#world;
    const { kind, by } = write;
    if (by === undefined || (kind.plural !== kinds.pods.plural && kind.plural !== kinds.attachments.plural)) return;
    if (world.hasElection && !world.isLeaseUnsettled()) checkLeader(by);
    const isLeading = isInTerm(world, by) && !world.isLeaseUnsettled();
    if (kind.plural === kinds.pods.plural) {
      checkPod(world, write, by);
      this.#rollout.check(write, by, isLeading);
      this.#waiting.checkPod(write, by, isLeading && isOfThisTerm(by));
    } else {
      checkAttachment(world, write);
      this.#waiting.checkAttachment(write, isLeading && isOfThisTerm(by));
    }
  }
}

/** LC-6. No request is begun while another replica leads. */
function checkLeader({ name, leaderWhenSent }: Writer): void {
  if (leaderWhenSent !== undefined && leaderWhenSent !== name) {
    throw new BrokenRule(`${name} writes while ${leaderWhenSent} leads`);
  }
}

function checkPod(world: Watched, { before, after }: Write, by: Writer): void {
  const was = before as Pod | undefined;
  if (was === undefined || ofDriver(was) === undefined || !isServing(was)) return;
  const now = after as Pod | undefined;
  if (isDeletion(was, now)) checkDeletion(world, was);
  else if (now !== undefined && isAnnotated(now) && !isAnnotated(was)) checkAnnotation(world, was, by);
}

function isDeletion({ metadata }: Pod, now: Pod | undefined): boolean {
  return now === undefined || now.metadata.deletionTimestamp !== metadata.deletionTimestamp;
}

/** DS-14. */
function checkDeletion(world: Watched, pod: Pod): void {
  if (isBound(world, pod)) throw new BrokenRule(`${pod.metadata.name} is deleted under a bind mount`);
}

/**
 * A Mountpoint Pod that is being deleted serves until its grace period is over. A request of a former leader may arrive late: the
 * node plugin never unmounts a source that still has bind mounts.
 */
function checkAnnotation(world: Watched, pod: Pod, by: Writer): void {
  if (pod.metadata.deletionTimestamp !== undefined || !isInTerm(world, by)) return;
  const user = userOf(world, pod);
  if (user !== undefined) throw new BrokenRule(`${pod.metadata.name} is to be unmounted, and ${user} uses it`);
}

function isServing(pod: Pod): boolean {
  return pod.status?.phase === "Running" && !isDown(pod);
}

function isInTerm({ hasElection, leader }: Watched, { name }: Writer): boolean {
  return hasElection && leader() === name;
}

/** Not a request of a process that has died, or has begun to lead anew since. */
function isOfThisTerm({ process, term }: Writer): boolean {
  return !process.isDead && process.terms === term;
}

function isBound({ cluster: { nodes } }: Watched, { metadata }: Pod): boolean {
  return nodes.some((node) => node.hasBinds(metadata.name));
}

/** A workload with a bind mount of this Mountpoint Pod that the API server has, and that no other Mountpoint Pod is to serve. */
function userOf({ cluster: { server, nodes } }: Watched, { metadata }: Pod): string | undefined {
  const bound = nodes.flatMap(({ binds }) => [...binds]).filter(([, holder]) => holder === metadata.name);
  const needing = new Set(
    server
      .all(kinds.pods)
      .filter(needs)
      .map((pod) => pod.metadata.uid),
  );
  const elsewhere = new Set(
    server.all(kinds.attachments).flatMap(({ spec }) =>
      Object.entries(spec.mountpointS3PodAttachments)
        .filter(([name]) => name !== metadata.name)
        .flatMap(([, list]) => list.map(({ workloadPodUID }) => workloadPodUID)),
    ),
  );
  return bound.map(([uid]) => uid).find((uid) => needing.has(uid) && !elsewhere.has(uid));
}

/** DS-7, DS-8. */
function checkAttachment(world: Watched, { before, after }: Write): void {
  const { server } = world.cluster;
  const [was, now] = [before, after] as (MountpointS3PodAttachment | undefined)[];
  const others = server.all(kinds.attachments).filter(({ metadata }) => metadata.name !== (was ?? now)?.metadata.name);
  const listed = [...others, ...(now === undefined ? [] : [now])];
  const kept = new Set(listed.flatMap(workloadsIn));
  const dropped = (was === undefined ? [] : workloadsIn(was)).filter((uid) => !kept.has(uid));
  const pods = new Map(server.all(kinds.pods).map((pod) => [pod.metadata.uid as PodUid, pod]));
  for (const uid of dropped) {
    const pod = pods.get(uid);
    if (pod !== undefined && needs(pod))
      throw new BrokenRule(`${uid} (${pod.metadata.name}) is detached and needs its volume`);
  }
  if (now !== undefined && world.hasElection && !world.hasDuplicates()) checkDuplicates(now, listed);
}

/** LC-7. */
function checkDuplicates(now: MountpointS3PodAttachment, listed: readonly MountpointS3PodAttachment[]): void {
  const all = listed.flatMap(workloadsIn);
  const twice = all.find((uid, index) => all.indexOf(uid) !== index);
  if (twice !== undefined) throw new BrokenRule(`${twice} is listed twice`);
  const typed = listed as unknown as ObservedAttachment[];
  if (duplicatesOf(typed, now as unknown as ObservedAttachment).length > 1)
    throw new BrokenRule("two attachments for one key");
}

function needs(pod: Pod): boolean {
  return ofDriver(pod) === undefined && needsVolumes(workloadFrom(pod));
}

function workloadsIn({ spec }: MountpointS3PodAttachment): readonly PodUid[] {
  return Object.values(spec.mountpointS3PodAttachments)
    .flat()
    .map(({ workloadPodUID }) => workloadPodUID as PodUid);
}
