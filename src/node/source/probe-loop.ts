/**
 * Probes the mount-s3 behind every source and reports the answers to the registry. A death closes the connection to mount-s3, if
 * there is one; a hang closes nothing, so only a probe finds it. The loop aborts the FUSE connection of a mount-s3 that hung
 * for longer than the limit, which unblocks its users.
 */

import type { PodName } from "../../core/names.ts";
import { ProblemLog } from "../../kube/problem-log.ts";
import type { DeviceId } from "../../linux/device-id.ts";
import type { Health } from "../../linux/fuse/probe.ts";
import type { Mount } from "../../linux/mounts/mountinfo.ts";
import type { Call } from "../../runtime/call.ts";
import { elapsed } from "../../runtime/elapsed.ts";
import { inBackground } from "../../runtime/in-background.ts";
import { describeError } from "../../runtime/log.ts";
import type { Pulses } from "../../runtime/progress.ts";
import { isV1Mount } from "../legacy/v1-mounts.ts";
import { isOurs, type MountTable } from "../mounts/mount-table.ts";
import type { Hang } from "./hang.ts";
import type { SourceRoom } from "./source-room.ts";

/** mount-s3 answers statfs within a millisecond, even while the object store is slow. */
const answerLimitMs = 2000;
/** Period for all sources; shorter if the hang limit is shorter. */
const allEveryMs = 30_000;
/** Period for mounts without a connection to mount-s3: mount-s3 started before this process, or the source is unmounted. */
const unconnectedEveryMs = 5000;
/** Mounts change in bursts: one round covers a burst. */
const shortestPauseMs = 1000;

/** Probes until the call ends. */
export async function probeSources(call: Call, room: SourceRoom, progress: Pulses): Promise<void> {
  const { hangLimitMs } = room;
  const periodMs = hangLimitMs === 0 ? allEveryMs : Math.min(allEveryMs, hangLimitMs / 5);
  const problems = new ProblemLog();
  let changed = Promise.withResolvers<void>();
  using _mounts = room.mounts.kernel.onMountChange(() => changed.resolve());
  using _ends = room.registry.onEnd((name) => {
    // Immediately, because mount-s3 may serve again before the next round.
    inBackground(
      call.log,
      "probing a source",
      unlessEnded(call, probeSource(call, room, name, { purpose: "deaths", mounts: room.mounts.table() })),
    );
  });
  const turned = progress.pulse("probing sources");
  let isDue = true;
  let roundAtMs = 0;
  while (!call.signal.aborted) {
    turned();
    if (isDue) {
      changed = Promise.withResolvers();
      roundAtMs = performance.now();
    }
    try {
      await probeAll(call, room, { problems, everySource: isDue });
      problems.resolve("round");
    } catch (error) {
      // No descriptor for the mount table, for example: the next round reads it again.
      if (!call.signal.aborted) problems.report(call.log, "round", "mounts could not be probed", { error });
    }
    if (call.signal.aborted) return;
    const isChanged = await pause(call, Math.min(unconnectedEveryMs, periodMs), changed.promise);
    isDue = isChanged || performance.now() - roundAtMs >= periodMs;
  }
}

/** Returns whether the mount table has changed; a change ends the pause early, but not before the shortest pause. */
async function pause(call: Call, ms: number, changed: Promise<void>): Promise<boolean> {
  const noticed = changed.then(() => true);
  const shortest = elapsed(call, Math.min(shortestPauseMs, ms));
  const isChanged = Promise.race([noticed, elapsed(call, ms).then(() => false)]);
  await shortest;
  return await isChanged;
}

interface Round {
  readonly problems: ProblemLog;
  /** false: only sources without a connection. */
  readonly everySource: boolean;
}

async function probeAll(call: Call, room: SourceRoom, { problems, everySource }: Round): Promise<void> {
  // Every probe begins in this turn of the event loop, and each entry of the table is expensive: it is read once for all.
  const mounts = room.mounts.table();
  const names = new Set([
    ...[...room.cluster.mountpointPods.store.values()].map(({ name }) => name),
    ...mounts.sourceNames,
  ]);
  const due = [...names].filter((name) => everySource || !room.registry.isConnected(name));
  const probes = [
    ...due.map((name) => ({
      about: name as string,
      probe: () => probeSource(call, room, name, { purpose: everySource ? "everything" : "deaths", mounts }),
    })),
    ...targetsWithoutSource(room, mounts).map((mount) => ({
      about: mount.mountPoint,
      probe: () => probeTarget(call, room, mount),
    })),
  ];
  await Promise.all(
    probes.map(async ({ about, probe }) => {
      try {
        await probe();
        problems.resolve(about);
      } catch (error) {
        // No thread for the probe, or an unexpected errno: the other mounts are still probed.
        if (!call.signal.aborted)
          problems.report(call.log, about, "a mount could not be probed", { mount: about, error });
      }
    }),
  );
  if (everySource && !call.signal.aborted) room.registry.completeRound(names);
}

/**
 * "deaths": a source that does not answer is left to the next full round. To judge a hang takes a look at all processes of the host,
 * and after a restart of the node plugin every source is without a connection.
 */
type Purpose = "everything" | "deaths";

interface Look {
  readonly purpose: Purpose;
  /** As it is now. */
  readonly mounts: MountTable;
}

async function probeSource(call: Call, room: SourceRoom, name: PodName, { purpose, mounts }: Look): Promise<void> {
  const { registry } = room;
  const mount = mounts.source(name);
  // DS-14: the reconciler deletes a Mountpoint Pod that does not exit only when no workload uses its source.
  if (room.cluster.mountpointPods.get(name)?.needsUnmount === true) {
    registry.observe(name, { saw: "use", inUse: isInUse(room, name) });
  }
  if (mount === undefined) {
    registry.observe(name, { saw: "nothing" });
    return;
  }
  const answer = await room.mounts.kernel.probe(call, mount.mountPoint, answerLimitMs);
  if (answer === "hung" && purpose === "deaths") return;
  const giveUp = registry.observe(name, {
    saw: "answer",
    deviceId: mount.deviceId,
    answer,
    isAwaited: registry.isStarting(name),
    cpuNs: answer === "hung" ? cpuTimeOf(room, name) : undefined,
    nowMs: performance.now(),
    hangLimitMs: room.hangLimitMs,
  });
  if (giveUp !== undefined) abort(call, room, { name, mount, hang: giveUp });
  noticeIfDead(call, room, { mount, answer, name });
}

/** Probes a target whose source is unmounted: no Mountpoint Pod leads to its device. */
async function probeTarget(call: Call, room: SourceRoom, mount: Mount): Promise<void> {
  const answer = await room.mounts.kernel.probe(call, mount.mountPoint, answerLimitMs);
  noticeIfDead(call, room, { mount, answer, name: undefined });
}

/** A probe that the end of the program cuts off is no failure. */
async function unlessEnded(call: Call, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!call.signal.aborted) throw error;
  }
}

interface Answered {
  readonly mount: Mount;
  readonly answer: Health;
  readonly name: PodName | undefined;
}

function noticeIfDead(call: Call, room: SourceRoom, { mount, answer, name }: Answered): void {
  if (answer === "dead") inBackground(call.log, "noticing a dead mount", unlessEnded(call, notice(room, mount, name)));
}

async function notice(room: SourceRoom, mount: Mount, name: PodName | undefined): Promise<void> {
  const { dead } = room.registry;
  await dead.ready;
  // The mount may have been replaced since the probe.
  if (room.mounts.table().at(mount.mountPoint)?.deviceId !== mount.deviceId) return;
  // A dead source without targets needs no heal. The source stays until the reconciler asks for the unmount.
  if (room.mounts.table().targetsOfDevice(mount.deviceId).length > 0) dead.notice(mount, name);
}

/** One mount of each device that is mounted at targets but at no source. Mounts of 1.x, which never had a source, are excluded. */
function targetsWithoutSource(room: SourceRoom, mounts: MountTable): readonly Mount[] {
  const ours = mounts.all.filter(isOurs);
  const withSource = new Set(
    ours.flatMap((mount) => (mounts.sourceNameOf(mount) === undefined ? [] : [mount.deviceId])),
  );
  const found = new Map<DeviceId, Mount>();
  for (const mount of ours) {
    const isKnown =
      withSource.has(mount.deviceId) || found.has(mount.deviceId) || room.registry.dead.isKnown(mount.deviceId);
    if (isKnown || mounts.workloadOf(mount) === undefined || isV1Mount(room.cluster, mount, mounts)) continue;
    found.set(mount.deviceId, mount);
  }
  return [...found.values()];
}

/**
 * A heal detaches the dead mount at the source before it has a new one, and the bind mounts of the dead device stay until then. A stuck
 * mount-s3 serves none of them ever again: another Mountpoint Pod does.
 */
function isInUse({ mounts: { table }, registry }: SourceRoom, name: PodName): boolean {
  const mounts = table();
  const mount = mounts.source(name);
  const isBound = mount !== undefined && mounts.binds(mount).length > 0;
  const isHealing = registry.dead.isHealing(name) && registry.get(name).condition !== "stuck";
  return isBound || isHealing || registry.isPublishing(name);
}

function cpuTimeOf({ mounts, cluster }: SourceRoom, name: PodName): number | undefined {
  const podUid = cluster.mountpointPods.get(name)?.uid;
  return podUid === undefined ? undefined : mounts.kernel.cpuTimeNs({ podUid, program: "mount-s3" });
}

interface Hung {
  readonly name: PodName;
  readonly mount: Mount;
  readonly hang: Hang;
}

function abort(call: Call, { mounts, metrics }: SourceRoom, { name, mount, hang }: Hung): void {
  try {
    // The device comes from a mount in the driver's own directory, read just before: no other connection is affected.
    mounts.kernel.abortFuse(mount.deviceId);
    metrics.hangs.inc();
    call.log.info("mount-s3 hung and was given up: its users are unblocked", {
      mountpointPod: name,
      mount,
      hang,
    });
  } catch (error) {
    call.log.info("a hung mount could not be given up", { mountpointPod: name, error: describeError(error) });
  }
}
