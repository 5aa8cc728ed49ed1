/**
 * Looks at every source now and then: a death is an event, a hang is not, and nobody else notices one while its users
 * wait. One that has hung for too long is given up, which frees them.
 */
import type { SourceCondition } from "../core/attachment-status.ts";
import type { PodName } from "../core/names.ts";
import { sourcePath, sourcesDir } from "../core/target-path.ts";
import { orAborted } from "../kube/or-aborted.ts";
import { type Mount, mountAt } from "../linux/mountinfo.ts";
import type { Call } from "../runtime/call.ts";
import { describeError } from "../runtime/log.ts";
import { type Hang, judgeHang } from "./hang.ts";
import { isOurs } from "./mount-table.ts";
import type { NodeParts } from "./node-parts.ts";

/** mount-s3 answers in a millisecond, also when the object store is slow. */
const answerLimitMs = 2000;
const longestPauseMs = 30_000;
/** Mounts come in bursts: one look is for all of them. */
const shortestPauseMs = 1000;

/** Ends with the call. */
export async function watchSources(call: Call, node: NodeParts): Promise<void> {
  const { hangLimitMs } = node.config;
  const hangs = new Map<PodName, Hang>();
  const pauseMs = hangLimitMs === 0 ? longestPauseMs : Math.min(longestPauseMs, hangLimitMs / 5);
  let news = Promise.withResolvers<void>();
  using _mounts = node.kernel.onMountChange(() => news.resolve());
  using _ends = node.sources.onEnd((name) => {
    // At once, because it may serve again before the next look; and by asking: a mounter of 2.x closes its end and lives.
    void lookAt(call, node, hangs, name).catch(() => news.resolve());
  });
  await node.mountpointPods.store.synced(call);
  for (;;) {
    news = Promise.withResolvers();
    await lookAtAll(call, node, hangs);
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

async function lookAtAll(call: Call, node: NodeParts, hangs: Map<PodName, Hang>): Promise<void> {
  const names = new Set(knownSources(node));
  await Promise.all([...names].map((name) => lookAt(call, node, hangs, name)));
  for (const name of hangs.keys()) if (!names.has(name)) hangs.delete(name);
  node.health.lookedAt(names);
}

function knownSources({ config, kernel, mountpointPods }: NodeParts): readonly PodName[] {
  const prefix = `${sourcesDir(config.kubeletDir)}/`;
  const mounted = kernel.mounts().flatMap(({ mountPoint }) => (mountPoint.startsWith(prefix) ? [mountPoint] : []));
  const pods = [...mountpointPods.store.values()].map(({ name }) => name);
  return [...pods, ...mounted.map((mountPoint) => mountPoint.slice(prefix.length) as PodName)];
}

async function lookAt(call: Call, node: NodeParts, hangs: Map<PodName, Hang>, name: PodName): Promise<void> {
  const mount = mountAt(node.kernel.mounts(), sourcePath(node.config.kubeletDir, name));
  const health = await conditionOf(call, node, name, mount);
  node.health.saw(name, health, new Date());
  if (health === "hung" && mount !== undefined) considerGivingUp(call, node, { hangs, name, mount });
  else hangs.delete(name);
}

async function conditionOf(
  call: Call,
  { kernel, sources }: NodeParts,
  name: PodName,
  mount: Mount | undefined,
): Promise<SourceCondition> {
  if (mount === undefined || !isOurs(mount)) return "absent";
  const health = await kernel.probe(call, mount.mountPoint, answerLimitMs);
  return health === "hung" && sources.isStarting(name) ? "starting" : health;
}

interface Suspect {
  readonly hangs: Map<PodName, Hang>;
  readonly name: PodName;
  readonly mount: Mount;
}

function considerGivingUp(call: Call, node: NodeParts, { hangs, name, mount }: Suspect): void {
  const { kernel, config, mountpointPods } = node;
  const podUid = mountpointPods.get(name)?.uid;
  const cpuNs = podUid === undefined ? undefined : kernel.cpuTimeNs({ podUid, program: "mount-s3" });
  const seen = { nowMs: performance.now(), cpuNs, limitMs: config.hangLimitMs };
  const { hang, giveUp } = judgeHang(hangs.get(name), seen);
  hangs.set(name, hang);
  if (!giveUp) return;
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
  hangs.delete(name);
}
