/**
 * Looks at every source now and then: a death is an event, a hang is not, and nobody else notices one while its users
 * wait. One that has hung for too long is given up, which frees them.
 */
import type { PodName } from "../core/names.ts";
import { orAborted } from "../kube/or-aborted.ts";
import { TroubleLog } from "../kube/trouble-log.ts";
import type { Mount } from "../linux/mountinfo.ts";
import type { Call } from "../runtime/call.ts";
import { describeError } from "../runtime/log.ts";
import { sourcePath } from "./domain/target-path.ts";
import { type Hang, judgeHang } from "./hang.ts";
import type { MountTable } from "./mounts/mount-table.ts";
import type { NodeParts } from "./node-parts.ts";

/** mount-s3 answers in a millisecond, also when the object store is slow. */
const answerLimitMs = 2000;
const longestPauseMs = 30_000;
/** Mounts come in bursts: one look is for all of them. */
const shortestPauseMs = 1000;

/** What is known of the mount of a source since the last look; another mount has another minor. */
interface Look {
  readonly minor: number;
  /** It has answered, or nobody waited any more for it to start: who waits now waits for one that serves or hangs. */
  readonly hasStarted: boolean;
  readonly hang: Hang | undefined;
}

type Looks = Map<PodName, Look>;

/** Ends with the call. */
export async function watchSources(call: Call, node: NodeParts): Promise<void> {
  const { hangLimitMs } = node.config;
  const looks: Looks = new Map();
  const troubles = new TroubleLog();
  const pauseMs = hangLimitMs === 0 ? longestPauseMs : Math.min(longestPauseMs, hangLimitMs / 5);
  let news = Promise.withResolvers<void>();
  using _mounts = node.kernel.onMountChange(() => news.resolve());
  using _ends = node.sources.onEnd((name) => {
    // At once, because it may serve again before the next look; and by asking: a mounter of 2.x closes its end and lives.
    void lookAt(call, node, looks, name).catch(() => news.resolve());
  });
  await node.mountpointPods.store.synced(call);
  for (;;) {
    news = Promise.withResolvers();
    await lookAtAll(call, node, { looks, troubles });
    await pause(call, shortestPauseMs, new Promise(() => undefined));
    await pause(call, Math.max(pauseMs - shortestPauseMs, 0), news.promise);
  }
}

/** A time, or until there is news. */
async function pause(call: Call, ms: number, news: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await orAborted(call, Promise.race([promise, news]));
  } finally {
    clearTimeout(timer);
  }
}

interface Memory {
  readonly looks: Looks;
  readonly troubles: TroubleLog;
}

async function lookAtAll(call: Call, node: NodeParts, { looks, troubles }: Memory): Promise<void> {
  const names = new Set(knownSources(node));
  await Promise.all(
    [...names].map(async (name) => {
      try {
        await lookAt(call, node, looks, name);
        troubles.over(name);
      } catch (error) {
        if (call.signal.aborted) throw error;
        // No thread for the question, or an answer that nobody foresaw: the other sources are looked at all the same.
        troubles.met(call.log, name, "a source could not be looked at", { mountpointPod: name, error });
      }
    }),
  );
  for (const name of looks.keys()) if (!names.has(name)) looks.delete(name);
  node.health.lookedAt(names);
}

function knownSources({ mounts, mountpointPods }: NodeParts): readonly PodName[] {
  return [...[...mountpointPods.store.values()].map(({ name }) => name), ...mounts().sourceNames];
}

async function lookAt(call: Call, node: NodeParts, looks: Looks, name: PodName): Promise<void> {
  const mounts = node.mounts();
  const mount = mounts.source(name);
  // DS-14: the controller deletes a Mountpoint Pod that does not end only when nobody uses it.
  if (node.mountpointPods.get(name)?.needsUnmount === true) node.health.sawUse(name, isInUse(node, name, mounts));
  if (mount === undefined) {
    looks.delete(name);
    return node.health.saw(name, "absent", new Date());
  }
  const answer = await node.kernel.probe(call, mount.mountPoint, answerLimitMs);
  const { hasStarted, hang } = lookBefore(looks, name, mount);
  const isStarting = answer === "hung" && !hasStarted && node.sources.isStarting(name);
  node.health.saw(name, isStarting ? "starting" : answer, new Date());
  looks.set(name, {
    minor: mount.minor,
    hasStarted: !isStarting,
    // A start may hang as well.
    hang: answer === "hung" ? hangOf(call, node, { name, mount, before: hang }) : undefined,
  });
}

function isInUse({ config, sources }: NodeParts, name: PodName, mounts: MountTable): boolean {
  const mount = mounts.at(sourcePath(config.kubeletDir, name));
  return sources.isPublishing(name) || (mount !== undefined && mounts.binds(mount).length > 0);
}

function lookBefore(looks: Looks, name: PodName, { minor }: Mount): Look {
  const look = looks.get(name);
  return look?.minor === minor ? look : { minor, hasStarted: false, hang: undefined };
}

interface Suspect {
  readonly name: PodName;
  readonly mount: Mount;
  readonly before: Hang | undefined;
}

/** undefined: it was given up. */
function hangOf(call: Call, node: NodeParts, { name, mount, before }: Suspect): Hang | undefined {
  const { kernel, config, mountpointPods } = node;
  const podUid = mountpointPods.get(name)?.uid;
  const cpuNs = podUid === undefined ? undefined : kernel.cpuTimeNs({ podUid, program: "mount-s3" });
  const seen = { nowMs: performance.now(), cpuNs, limitMs: config.hangLimitMs };
  const { hang, giveUp } = judgeHang(before, seen);
  if (!giveUp) return hang;
  try {
    // The minor is that of a mount in our own directory, read a moment ago: no other connection is touched.
    kernel.abortFuse(mount.minor);
    node.metrics.hangs.inc();
    call.log.info("mount-s3 hung and was given up: whoever waited for it is free", {
      mountpointPod: name,
      mount,
      hang,
    });
  } catch (error) {
    call.log.info("a hung mount could not be given up", { mountpointPod: name, error: describeError(error) });
  }
  return undefined;
}
