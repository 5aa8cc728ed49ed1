/**
 * Moves running workloads to another Mountpoint Pod, while the former one still serves: mount the successor → prove it → put its mount
 * beneath the former one in every namespace → report. Open files stay with the former mount-s3 until they are closed.
 */

import { DriverError } from "../../core/errors.ts";
import type { PodName, PodUid } from "../../core/names.ts";
import { type Call, deadline, withFields } from "../../runtime/call.ts";
import { inBackground } from "../../runtime/in-background.ts";
import { refreshCredentials } from "../credentials/credentials.ts";
import { sourcePath, targetAt } from "../domain/target-path.ts";
import { bringBack } from "../heal/bring-back.ts";
import { pause } from "../heal/pause.ts";
import { workloadAt } from "../mounts/mount-table.ts";
import type { SwapFailure } from "../swap/carry-out.ts";
import type { Swapper } from "../swap/swap.ts";
import { forgetHalfMoved, rememberedWhile } from "./half-moved.ts";
import type { MoveRoom } from "./move-room.ts";
import { type Move, movesIn, type Successor, successorsAmong } from "./plan-moves.ts";
import { differenceOf } from "./same-data.ts";

/** Receives the outcome of each attempt, to emit events. */
export interface MoveReports {
  /** These workloads have the mount of the successor. */
  moved(call: Call, moved: Move & { readonly hadGap: boolean }): void;
  /** These workloads keep the mount that they have. */
  failed(call: Call, failed: Pick<Move, "from" | "to" | "targets"> & { readonly because: unknown }): void;
  /** A container of these workloads has no mount at a path any more. */
  lost(call: Call, lost: Pick<Move, "from" | "to" | "targets"> & Pick<SwapFailure, "mountPoint" | "because">): void;
}

/** kubelet repeats its calls every 60 to 90 seconds. */
const recordsComeMs = 30_000;

/** Moves until the call ends. */
export async function moveWorkloads(call: Call, room: MoveRoom, reports: MoveReports): Promise<void> {
  const { attachments, mountpointPods } = room.cluster;
  const running = new Map<string, Promise<void>>();
  let changed = Promise.withResolvers<void>();
  const wake = () => changed.resolve();
  using _attachments = attachments.store.subscribe(wake);
  using _pods = mountpointPods.store.subscribe(wake);
  // A publish that began before the move binds the former source after it.
  using _mounts = room.mounts.kernel.onMountChange(wake);
  call.signal.addEventListener("abort", wake, { once: true });
  await Promise.all([attachments.store.synced(call), mountpointPods.store.synced(call)]);
  const start = (key: string, work: () => Promise<void>) => {
    if (running.has(key)) return;
    const done = work().finally(() => running.delete(key));
    running.set(key, done);
    inBackground(call.log, "moving workloads", done);
  };
  // kubelet's calls bring missing records, and nothing reports that.
  const timer = setInterval(wake, recordsComeMs);
  using _timer = { [Symbol.dispose]: () => clearInterval(timer) };
  while (!call.signal.aborted) {
    changed = Promise.withResolvers();
    const next = () => changed.promise;
    for (const { name, replaces } of unprepared(room)) {
      start(`prepare ${name}`, () => prepare(call, room, { name, replaces, next }, reports));
    }
    for (const { from, to } of plannedMoves(room)) {
      start(`move ${from} ${to}`, () => untilMoved(call, room, { from, to, next }, reports));
    }
    await changed.promise;
  }
  await Promise.allSettled(running.values());
}

/** Successors that are not mounted yet, and whose former Mountpoint Pod has users. Reads the mount table once: most Pods replace another. */
function unprepared({ mounts, records, cluster }: MoveRoom): readonly Successor[] {
  const successors = successorsAmong(cluster.mountpointPods.store.values());
  if (successors.length === 0) return [];
  const left = new Set(records.mounts.uses.map(({ holder }) => holder));
  const mounted = new Set(mounts.table().sourceNames);
  return successors.filter(({ name, replaces }) => left.has(replaces) && !mounted.has(name));
}

interface Preparation extends Successor {
  /** The next change of the cluster or of the mount table. */
  readonly next: () => Promise<void>;
}

/** Limit of one attempt, as in healing. */
const attemptLimitMs = 20_000;

/** Mounts the successor. The controller learns from the attachment's status that it serves, and then assigns the workloads to it. */
async function prepare(call: Call, room: MoveRoom, { name, replaces, next }: Preparation, reports: MoveReports) {
  const forPod = withFields(call, { mountpointPod: name, formerMountpointPod: replaces });
  for (let failures = 0; !call.signal.aborted; failures += 1) {
    const wake = next();
    const targets = targetsOf(room, replaces);
    if (isPrepared(room, name) || !isWanted(room, name) || targets.length === 0) return;
    try {
      // Before anything is assigned to the successor, so that the reconciler gives the request up.
      checkAbility(room);
      using limited = deadline(forPod, attemptLimitMs, "a successor to be mounted");
      // The unmount loop skips the source meanwhile: the request may have been taken back.
      using _after = { [Symbol.dispose]: () => room.sources.unmounts.add(name) };
      using _publishing = room.sources.registry.publishing(name);
      await bringBack(limited, room, name, targets);
      forPod.log.info("successor mounted");
      return;
    } catch (error) {
      if (call.signal.aborted) return;
      forPod.log.info("successor not mounted yet", { error });
      // A container that is still being started is no failure: kubelet pulls images and creates Pods within its own time.
      if (isRefused(error)) reports.failed(forPod, { from: replaces, to: name, targets, because: error });
    }
    await pause(call, wake, failures);
  }
}

function isRefused(error: unknown): boolean {
  return error instanceof DriverError && error.kind !== "notReady";
}

function isWanted({ cluster }: MoveRoom, name: PodName): boolean {
  const pod = cluster.mountpointPods.get(name);
  return pod !== undefined && successorsAmong([pod]).length > 0;
}

function isPrepared({ mounts }: MoveRoom, name: PodName): boolean {
  return mounts.table().source(name) !== undefined;
}

function targetsOf({ records }: MoveRoom, name: PodName): readonly string[] {
  return records.mounts.uses.flatMap(({ target, holder }) => (holder === name ? target : []));
}

function plannedMoves(room: MoveRoom): readonly Move[] {
  const { attachments } = room.cluster;
  const holderOf = (path: string) => {
    const target = targetAt(room.mounts.kubeletDir, path);
    return target && attachments.holderNow(target);
  };
  const { registry } = room.sources;
  // Dead mounts are healed: healing remembers containers that it cannot reach yet, and reports the death.
  const isDead = ({ from, deviceId }: Move) =>
    registry.dead.isKnown(deviceId) || registry.get(from).condition === "dead";
  return movesIn(room.mounts.table(), holderOf).filter((move) => !isDead(move));
}

type Wanted = Pick<Move, "from" | "to"> & Pick<Preparation, "next">;

async function untilMoved(call: Call, room: MoveRoom, { from, to, next }: Wanted, reports: MoveReports): Promise<void> {
  const forMove = withFields(call, { mountpointPod: to, formerMountpointPod: from });
  for (let failures = 0; !call.signal.aborted; failures += 1) {
    const wake = next();
    const planned = plannedMoves(room).filter((each) => each.to === to);
    if (planned.length === 0) forgetHalfMoved(room, to);
    const move = planned.find((each) => each.from === from);
    if (move === undefined) return;
    try {
      await moveOnce(forMove, room, move, reports);
    } catch (error) {
      if (call.signal.aborted) return;
      forMove.log.info("workloads not moved yet", { targets: move.targets.length, error });
      room.metrics.failedMoves.inc();
      reports.failed(forMove, { ...move, because: error });
      await pause(call, wake, failures);
    }
  }
}

async function moveOnce(call: Call, room: MoveRoom, move: Move, reports: MoveReports): Promise<void> {
  const { from, to, deviceId, targets } = move;
  const { kubeletDir } = room.mounts;
  const swapper = checkAbility(room);
  using limited = deadline(call, attemptLimitMs, "workloads to be moved");
  // Both sources are looked at afterwards: the former has lost its bind mounts.
  using after = new DisposableStack();
  for (const pod of [from, to]) after.defer(() => room.sources.unmounts.add(pod));
  using _publishing = room.sources.registry.publishing(to);
  checkIdentities(room, move);
  await bringBack(limited, room, to, targets);
  const difference = differenceOf(room.records.mounts.get(from), room.records.mounts.get(to));
  if (difference !== undefined) throw new DriverError("invalid", `the mounts do not show the same data: ${difference}`);
  takeOverCredentials(room, move);
  const workloads = new Set(targets.flatMap((mountPoint) => workloadAt(kubeletDir, { mountPoint }) ?? []));
  const { replaced, failures } = await rememberedWhile(room, move, () =>
    swapper.swap(limited, deviceId, sourcePath(kubeletDir, to), { workloads }),
  );
  call.log.info("mounts replaced", { replaced, failures });
  const mounts = room.mounts.table();
  const done = targets.filter((target) => mounts.at(target)?.deviceId !== deviceId);
  for (const target of done) room.records.mounts.moveUser(target, to);
  if (done.length > 0) {
    room.metrics.moves.inc(done.length);
    reports.moved(call, { ...move, targets: done, hadGap: room.replacement === "withGap" });
  }
  for (const failure of failures.filter(({ isLost }) => isLost)) {
    const affected = targets.filter((mountPoint) => workloadAt(kubeletDir, { mountPoint }) === failure.workload);
    reports.lost(call, { ...failure, from, to, targets: affected });
  }
  const kept = failures.filter(({ isLost }) => isLost !== true);
  if (kept.length > 0) throw notReplaced(kept);
}

/** SE-6. Credentials of one identity never reach a Mountpoint Pod of another. Pods of 2.x name none. */
function checkIdentities({ cluster }: MoveRoom, { from, to }: Move): void {
  const [former, successor] = [from, to].map((name) => cluster.mountpointPods.get(name)?.identity);
  if (former === undefined || successor === undefined || former === successor) return;
  throw new DriverError(
    "denied",
    `Mountpoint Pod ${to} is for other credentials (${successor}) than ${from} (${former})`,
    {
      hint: "Restart the Pod: it then uses the credentials that the PersistentVolume names now.",
    },
  );
}

/** A Secret that was changed since the successor was mounted has reached the former Mountpoint Pod only. */
function takeOverCredentials({ records, cluster, sources }: MoveRoom, { from, to }: Move): void {
  const pod = cluster.mountpointPods.get(to);
  const record = records.mounts.get(from);
  if (pod === undefined || record === undefined) return;
  refreshCredentials(sources.credentials, pod, record.access);
  records.mounts.keepAccess(to, record.access);
}

function notReplaced(
  failures: readonly { readonly mountPoint: string; readonly because: string; readonly workload: PodUid | undefined }[],
) {
  const [first] = failures;
  const others = failures.length > 1 ? ` (and ${failures.length - 1} more)` : "";
  return new DriverError("notReady", `the mount at ${first?.mountPoint} stays: ${first?.because}${others}`, {
    hint: "Restart the Pod: a new container gets the mount of the new Mountpoint Pod.",
  });
}

function checkAbility({ swapper, replacement }: MoveRoom): Swapper {
  if (swapper === undefined) {
    throw new DriverError("unsupported", "running containers cannot be reached: the host's /proc is not mounted", {
      hint: "Install the node plugin with the chart of this version, which mounts it.",
    });
  }
  if (replacement !== "refused") return swapper;
  throw new DriverError("unsupported", "the kernel is older than 6.5 and cannot replace a mount without a gap", {
    hint: "Restart the Pod: it then gets the mount of the new Mountpoint Pod. Or allow the gap with the chart value node.movesWithGap.",
  });
}
