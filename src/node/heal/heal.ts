/** Heals dead mounts inside running workloads: notice → bring back → swap → report. */

import { DriverError } from "../../core/errors.ts";
import type { PodName } from "../../core/names.ts";
import { type Call, deadline, withFields } from "../../runtime/call.ts";
import { ended } from "../../runtime/elapsed.ts";
import { inBackground } from "../../runtime/in-background.ts";
import { sourcePath } from "../domain/target-path.ts";
import { isV1Mount, restartHint } from "../legacy/v1-mounts.ts";
import { workloadAt } from "../mounts/mount-table.ts";
import type { DeadDevice } from "../source/dead-devices.ts";
import type { SwapFailure } from "../swap/carry-out.ts";
import { bringBack, stillPublished, successorOf } from "./bring-back.ts";
import type { HealRoom } from "./heal-room.ts";
import { pause } from "./pause.ts";
import { resumePendingHeals, retryUndecided } from "./resume.ts";
import { isStuck } from "./stuck.ts";

/** Receives the outcome of each attempt, to emit events. */
export interface HealReports {
  /** These workloads have a working mount again. */
  healed(call: Call, healed: Healed): void;
  /** These workloads still have the dead mount. */
  delayed(call: Call, delayed: Delayed): void;
}

export interface Healed {
  readonly dead: DeadDevice;
  /** The Mountpoint Pod that serves now. */
  readonly mountpointPod: PodName;
  readonly targets: readonly string[];
  readonly awayMs: number;
}

export interface Delayed {
  readonly dead: DeadDevice;
  readonly targets: readonly string[];
  readonly because: DriverError | Error;
}

/** Heals until the call ends. */
export async function healDeadMounts(call: Call, room: HealRoom, reports: HealReports): Promise<void> {
  const { attachments, mountpointPods } = room.cluster;
  const { dead: devices } = room.sources.registry;
  const healing = new Set<Promise<void>>();
  using _notices = devices.onNotice((dead) => {
    const work = heal(call, room, dead, reports).finally(() => healing.delete(work));
    healing.add(work);
    inBackground(call.log, "healing", work);
  });
  using _attachments = attachments.store.subscribe(() => devices.wake());
  using _pods = mountpointPods.store.subscribe(() => devices.wake());
  // Pending heals are resumed first: their dead mounts may be in containers only, which the probe loop does not look at.
  const undecided = await resumePendingHeals(call, room, room.records.pendingHeals.all);
  const later = retryUndecided(call, room, undecided, (delayed) => reportDelayed(call, room, delayed, reports));
  inBackground(call.log, "resuming pending heals", later);
  devices.markReady();
  await ended(call);
  await Promise.all([...healing, later]);
}

/** Limit of one attempt. Waiting for a container in back-off takes several attempts, and each failed attempt emits an event. */
const attemptLimitMs = 20_000;

async function heal(call: Call, room: HealRoom, dead: DeadDevice, reports: HealReports): Promise<void> {
  const { dead: devices } = room.sources.registry;
  const healCall = withFields(call, { deviceId: dead.deviceId, mountpointPod: dead.mountpointPod });
  healCall.log.info("mount-s3 has ended and left a dead mount");
  let pendingTargets = room.records.pendingHeals.targetsOf(dead);
  // An earlier node plugin has counted what it left pending.
  if (room.records.pendingHeals.sinceOf(dead)?.getTime() !== dead.since.getTime()) room.metrics.deaths.inc();
  for (let failures = 0; !call.signal.aborted; failures += 1) {
    const { nextWake } = devices;
    pendingTargets = await attempt(healCall, room, { dead, pendingTargets }, reports);
    if (pendingTargets.length === 0) break;
    // The others are healed and reported: a node plugin that is restarted now must not report them again.
    room.records.pendingHeals.add({ ...dead, targets: pendingTargets });
    devices.attemptEnded(dead.deviceId);
    await pause(call, nextWake, failures);
  }
  devices.remove(dead.deviceId);
  // When the program ends, the heal stays pending for the next node plugin.
  if (!call.signal.aborted) room.records.pendingHeals.remove(dead.deviceId);
}

interface Task {
  readonly dead: DeadDevice;
  /** Targets that an earlier attempt did not heal completely. kubelet's own mount may work while a container has the dead one. */
  readonly pendingTargets: readonly string[];
}

/** Returns the targets that are not healed. */
async function attempt(
  call: Call,
  room: HealRoom,
  { dead, pendingTargets }: Task,
  reports: HealReports,
): Promise<readonly string[]> {
  using limited = deadline(call, attemptLimitMs, "a dead mount to be healed");
  const targets = [
    ...new Set([...room.mounts.table().targetsOfDevice(dead.deviceId), ...stillPublished(room, pendingTargets)]),
  ];
  if (targets.length === 0) {
    call.log.info("no workload that can be healed uses the dead mount any more");
    return [];
  }
  // Stored before the first replacement, because this program may end at any moment.
  room.records.pendingHeals.add({ ...dead, targets });
  try {
    const { mountpointPod, failures } = await healOnce(limited, room, dead, targets);
    const failed = targets.filter((target) => failuresOf(room, target, failures).length > 0);
    const healed = targets.filter((target) => !failed.includes(target));
    if (healed.length > 0) reportHealed(call, room, { dead, mountpointPod, targets: healed }, reports);
    if (failed.length > 0) {
      const because = notReplaced(failed.flatMap((target) => failuresOf(room, target, failures)));
      reportDelayed(call, room, { dead, targets: failed, because }, reports);
    }
    return failed;
  } catch (error) {
    if (call.signal.aborted) return [];
    const because = error instanceof Error ? error : new Error(String(error));
    reportIfStuck(call, room, dead);
    reportDelayed(call, room, { dead, targets, because }, reports);
    return targets;
  }
}

/** Failures of the workload that has this target, and failures whose workload is unknown. */
function failuresOf({ mounts }: HealRoom, target: string, failures: readonly SwapFailure[]): readonly SwapFailure[] {
  const own = workloadAt(mounts.kubeletDir, { mountPoint: target });
  return failures.filter(({ workload }) => workload === undefined || workload === own);
}

/** The message of an event has at most 1,024 characters, and a container may have many mounts. */
const namedMounts = 5;

function notReplaced(failures: readonly SwapFailure[]): DriverError {
  const reasons = [...new Set(failures.map(({ mountPoint, because }) => `${mountPoint}: ${because}`))];
  const others = reasons.length > namedMounts ? [`${reasons.length - namedMounts} more`] : [];
  const named = [...reasons.slice(0, namedMounts), ...others].join("; ");
  return new DriverError("notReady", `the dead mount could not be replaced at ${named}`, {
    hint: "Restart the Pod: a new container gets the mount that works.",
  });
}

function reportHealed(call: Call, room: HealRoom, healed: Omit<Healed, "awayMs">, reports: HealReports): void {
  const { dead, mountpointPod, targets } = healed;
  const awayMs = Date.now() - dead.since.getTime();
  // A successor is another Mountpoint Pod: the line is about both.
  const both = [...new Set([dead.mountpointPod ?? mountpointPod, mountpointPod])];
  const involved = both.length === 1 ? mountpointPod : both;
  call.log.info("healed", { mountpointPod: involved, targets: targets.length, awayMs });
  room.metrics.healSeconds.observe(awayMs / 1000);
  reports.healed(call, { ...healed, awayMs });
}

function reportDelayed(call: Call, room: HealRoom, delayed: Delayed, reports: HealReports): void {
  call.log.info("not healed yet", { targets: delayed.targets.length, error: delayed.because });
  room.metrics.failedHeals.inc();
  reports.delayed(call, delayed);
}

/** Reports a stuck mount-s3 in the attachment's status. The controller then assigns another Mountpoint Pod to the workloads. */
function reportIfStuck(call: Call, room: HealRoom, dead: DeadDevice): void {
  const { mountpointPod } = dead;
  const now = new Date();
  if (mountpointPod === undefined || !isStuck(room, dead, now)) return;
  call.log.info("mount-s3 has lost its mount and does not end", { mountpointPod });
  room.sources.registry.observe(mountpointPod, { saw: "stuck" });
}

interface Outcome {
  /** The Mountpoint Pod that serves now. */
  readonly mountpointPod: PodName;
  /** Mounts that still show the dead device. */
  readonly failures: readonly SwapFailure[];
}

async function healOnce(call: Call, room: HealRoom, dead: DeadDevice, targets: readonly string[]): Promise<Outcome> {
  const name = successorOf(room, dead, targets);
  if (name === undefined) throw noMountpointPod(room, dead);
  // The unmount loop must check both sources afterwards: the old one loses its bind mounts, and the new one may have no users.
  using after = new DisposableStack();
  for (const pod of [dead.mountpointPod ?? name, name]) after.defer(() => room.sources.unmounts.add(pod));
  using _publishing = room.sources.registry.publishing(name);
  await whileSuccessor(call, room, { dead, name, targets }, (assigned) => bringBack(assigned, room, name, targets));
  if (room.swapper === undefined) {
    throw new DriverError("unsupported", "running containers cannot be reached: the host's /proc is not mounted", {
      hint: "Install the node plugin with the chart of this version, which mounts it; until then restart the Pod.",
    });
  }
  const { replaced, failures } = await room.swapper.swap(call, dead.deviceId, sourcePath(room.mounts.kubeletDir, name));
  call.log.info("dead mounts replaced", { replaced, failures });
  room.metrics.refusedHeals.inc(failures.filter(({ isUnsafe }) => isUnsafe).length);
  const mounts = room.mounts.table();
  for (const target of targets)
    if (mounts.at(target)?.deviceId !== dead.deviceId) room.records.mounts.moveUser(target, name);
  return { mountpointPod: name, failures };
}

function noMountpointPod(room: HealRoom, { deviceId }: DeadDevice): DriverError {
  const mounts = room.mounts.table();
  const isV1 = mounts.ofDevice(deviceId).some((mount) => isV1Mount(room.cluster, mount, mounts));
  return isV1
    ? new DriverError("unsupported", "the driver 1.x mounted it, without a Mountpoint Pod", { hint: restartHint })
    : new DriverError("notReady", "no Mountpoint Pod is assigned to its workloads");
}

interface Chosen {
  readonly dead: DeadDevice;
  readonly name: PodName;
  readonly targets: readonly string[];
}

/** Aborts the work when the controller assigns another Mountpoint Pod to the workloads. */
async function whileSuccessor(
  call: Call,
  room: HealRoom,
  { dead, name, targets }: Chosen,
  work: (call: Call) => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  using _changes = room.cluster.attachments.store.subscribe(() => {
    const now = successorOf(room, dead, targets);
    if (now !== name) over.abort(new DriverError("notReady", `Mountpoint Pod ${name} was replaced by another one`));
  });
  await work({ log: call.log, signal: AbortSignal.any([call.signal, over.signal]) });
}
