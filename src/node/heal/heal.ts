/** Heals dead mounts inside running workloads: notice → bring back → swap → tell. */

import { DriverError } from "../../core/errors.ts";
import type { PodName } from "../../core/names.ts";
import { type Call, deadline, withFields } from "../../runtime/call.ts";
import { ended } from "../../runtime/elapsed.ts";
import { inBackground } from "../../runtime/in-background.ts";
import { sourcePath } from "../domain/target-path.ts";
import { isV1Mount, restartHint } from "../legacy/v1-mounts.ts";
import { workloadAt } from "../mounts/mount-table.ts";
import type { NodeParts } from "../node-parts.ts";
import type { DeadDevice } from "../source/dead-devices.ts";
import { bringBack, deadTargets, stillPublished, successorOf } from "./bring-back.ts";
import type { SwapFailure } from "./carry-out.ts";
import { pause } from "./pause.ts";
import { lookAgain, resumePendingHeals } from "./resume.ts";
import { isStuck } from "./stuck.ts";

/** What those who write to users hear of. */
export interface HealReports {
  /** Workloads work again. */
  healed(call: Call, healed: Healed): void;
  /** Not yet, or not at all. */
  delayed(call: Call, delayed: Delayed): void;
}

export interface Healed {
  readonly dead: DeadDevice;
  /** Who serves now. */
  readonly mountpointPod: PodName;
  readonly targets: readonly string[];
  readonly awayMs: number;
}

export interface Delayed {
  readonly dead: DeadDevice;
  readonly targets: readonly string[];
  readonly because: DriverError | Error;
}

/** Ends with the call. */
export async function healDeadMounts(call: Call, node: NodeParts, reports: HealReports): Promise<void> {
  const { attachments, mountpointPods } = node;
  const { dead: devices } = node.sources;
  const healing = new Set<Promise<void>>();
  using _notices = devices.onNotice((dead) => {
    const work = heal(call, node, dead, reports).finally(() => healing.delete(work));
    healing.add(work);
    inBackground(call.log, "healing", work);
  });
  using _attachments = attachments.store.subscribe(() => devices.wake());
  using _pods = mountpointPods.store.subscribe(() => devices.wake());
  // What is owed comes first: a device that is noticed anew would forget who waits for it.
  const undecided = await resumePendingHeals(call, node, node.pendingHeals.all);
  const later = lookAgain(call, node, undecided, (delayed) => reportDelayed(call, node, delayed, reports));
  inBackground(call.log, "looking at owed heals", later);
  devices.markReady();
  await ended(call);
  await Promise.all([...healing, later]);
}

/** One attempt; a container in back-off is waited for in several, and users are healCall after each. */
const attemptLimitMs = 20_000;

async function heal(call: Call, node: NodeParts, dead: DeadDevice, reports: HealReports): Promise<void> {
  const { dead: devices } = node.sources;
  const healCall = withFields(call, { minor: dead.minor, formerMountpointPod: dead.mountpointPod });
  healCall.log.info("mount-s3 has ended and left a dead mount");
  if (dead.pendingTargets.length === 0) node.metrics.deaths.inc();
  let { pendingTargets } = dead;
  for (let failures = 0; !call.signal.aborted; failures += 1) {
    const { nextWake } = devices;
    pendingTargets = await attempt(healCall, node, { dead, pendingTargets }, reports);
    if (pendingTargets.length === 0) break;
    devices.attemptEnded(dead.minor);
    await pause(call, nextWake, failures);
  }
  devices.remove(dead.minor);
  // The end of the program settles nothing: the next one goes on.
  if (!call.signal.aborted) node.pendingHeals.remove(dead.minor);
}

interface Task {
  readonly dead: DeadDevice;
  /** Targets of workloads that an earlier attempt failed, in a container perhaps: kubelet's own mount may be whole by now. */
  readonly pendingTargets: readonly string[];
}

/** Answers with the targets for which something is left to do. */
async function attempt(
  call: Call,
  node: NodeParts,
  { dead, pendingTargets }: Task,
  reports: HealReports,
): Promise<readonly string[]> {
  using limited = deadline(call, attemptLimitMs, "a dead mount to be healed");
  const targets = [...new Set([...deadTargets(node, dead), ...stillPublished(node, pendingTargets)])];
  if (targets.length === 0) {
    call.log.info("nobody who can be helped uses the dead mount any more");
    return [];
  }
  // Before anything is replaced: this program may end at any moment.
  node.pendingHeals.add({ ...dead, targets });
  try {
    const { mountpointPod, failures } = await healOnce(limited, node, dead, targets);
    const failed = targets.filter((target) => failuresOf(node, target, failures).length > 0);
    const whole = targets.filter((target) => !failed.includes(target));
    if (whole.length > 0) reportHealed(call, node, { dead, mountpointPod, targets: whole }, reports);
    if (failed.length > 0) {
      const because = notReplaced(failed.flatMap((target) => failuresOf(node, target, failures)));
      reportDelayed(call, node, { dead, targets: failed, because }, reports);
    }
    return failed;
  } catch (error) {
    if (call.signal.aborted) return [];
    const because = error instanceof Error ? error : new Error(String(error));
    reportIfStuck(call, node, dead);
    reportDelayed(call, node, { dead, targets, because }, reports);
    return targets;
  }
}

/** What failed for the workload that has this target, or for nobody knows whom. */
function failuresOf({ config }: NodeParts, target: string, failures: readonly SwapFailure[]): readonly SwapFailure[] {
  const own = workloadAt(config.kubeletDir, { mountPoint: target });
  return failures.filter(({ workload }) => workload === undefined || workload === own);
}

/** An Event holds 1,024 characters, and a container may have many places. */
const namedMounts = 5;

function notReplaced(failures: readonly SwapFailure[]): DriverError {
  const reasons = [...new Set(failures.map(({ mountPoint, because }) => `${mountPoint}: ${because}`))];
  const others = reasons.length > namedMounts ? [`${reasons.length - namedMounts} more`] : [];
  const named = [...reasons.slice(0, namedMounts), ...others].join("; ");
  return new DriverError("notReady", `the dead mount could not be replaced at ${named}`, {
    hint: "Restart the Pod: a new container gets the mount that works.",
  });
}

function reportHealed(call: Call, node: NodeParts, healed: Omit<Healed, "awayMs">, reports: HealReports): void {
  const { dead, mountpointPod, targets } = healed;
  const awayMs = Date.now() - dead.since.getTime();
  call.log.info("healed", { mountpointPod, targets: targets.length, awayMs });
  node.metrics.healSeconds.observe(awayMs / 1000);
  reports.healed(call, { ...healed, awayMs });
}

function reportDelayed(call: Call, node: NodeParts, delayed: Delayed, reports: HealReports): void {
  call.log.info("not healed yet", { targets: delayed.targets.length, error: delayed.because });
  node.metrics.failedHeals.inc();
  reports.delayed(call, delayed);
}

/** The controller is healCall in the attachment's status: it gives the workloads to another Mountpoint Pod. */
function reportIfStuck(call: Call, node: NodeParts, dead: DeadDevice): void {
  const { mountpointPod } = dead;
  const now = new Date();
  if (mountpointPod === undefined || !isStuck(node, dead, now)) return;
  call.log.info("mount-s3 has lost its mount and does not end", { mountpointPod });
  node.sources.observe(mountpointPod, { saw: "stuck" });
}

interface Outcome {
  /** Who serves now. */
  readonly mountpointPod: PodName;
  /** Places that still have the dead mount. */
  readonly failures: readonly SwapFailure[];
}

async function healOnce(call: Call, node: NodeParts, dead: DeadDevice, targets: readonly string[]): Promise<Outcome> {
  const name = successorOf(node, dead, targets);
  if (name === undefined) throw nobodyFor(node, dead);
  // The old source is nobody's when its binds are gone, and the new one if its workloads left meanwhile.
  using after = new DisposableStack();
  for (const one of [dead.mountpointPod ?? name, name]) after.defer(() => node.unmounts.add(one));
  using _publishing = node.sources.publishing(name);
  await whileSuccessor(call, node, { dead, name, targets }, (until) => bringBack(until, node, name, targets));
  if (node.swapper === undefined) {
    throw new DriverError("unsupported", "running containers cannot be reached: the host's /proc is not mounted", {
      hint: "Install the node plugin with the chart of this version, which mounts it; until then restart the Pod.",
    });
  }
  const { replaced, failures } = await node.swapper.swap(call, dead.minor, sourcePath(node.config.kubeletDir, name));
  call.log.info("dead mounts replaced", { replaced, failures });
  node.metrics.refusedHeals.inc(failures.filter(({ isUnsafe }) => isUnsafe).length);
  const mounts = node.mounts();
  for (const target of targets) if (mounts.at(target)?.minor !== dead.minor) node.records.moveUser(target, name);
  return { mountpointPod: name, failures };
}

function nobodyFor(node: NodeParts, { minor }: DeadDevice): DriverError {
  const mounts = node.mounts();
  const isV1 = mounts.ofDevice(minor).some((mount) => isV1Mount(node, mount, mounts));
  return isV1
    ? new DriverError("unsupported", "the driver 1.x mounted it, without a Mountpoint Pod", { hint: restartHint })
    : new DriverError("notReady", "no Mountpoint Pod is assigned to its workloads");
}

interface Chosen {
  readonly dead: DeadDevice;
  readonly name: PodName;
  readonly targets: readonly string[];
}

/** The controller may give the workloads to another Mountpoint Pod while we wait for this one. */
async function whileSuccessor(
  call: Call,
  node: NodeParts,
  { dead, name, targets }: Chosen,
  work: (call: Call) => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  using _changes = node.attachments.store.subscribe(() => {
    const now = successorOf(node, dead, targets);
    if (now !== name) over.abort(new DriverError("notReady", `Mountpoint Pod ${name} was replaced by another one`));
  });
  await work({ log: call.log, signal: AbortSignal.any([call.signal, over.signal]) });
}
