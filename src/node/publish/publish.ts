/** NodePublishVolume: attachment → Mountpoint Pod → keys → source → target. */
import { isDeepStrictEqual } from "node:util";
import { DriverError } from "../../core/errors.ts";
import { type MountArguments, mountArguments, userAgentPrefix } from "../../core/mount-args.ts";
import type { PodName } from "../../core/names.ts";
import { choosePidNamespace } from "../../core/pid-namespace.ts";
import type { Mount } from "../../linux/mounts/mountinfo.ts";
import { type Call, deadline, withFields } from "../../runtime/call.ts";
import { unusableReason } from "../cluster/mountpoint-pods.ts";
import { waitUntilScheduled } from "../cluster/scheduled.ts";
import { checkIdentity, keysFor, refreshKeys } from "../credentials/credentials.ts";
import { logEnvironment } from "../domain/mount-s3-log.ts";
import { sourcePath } from "../domain/target-path.ts";
import { isV1Mount, refreshV1, restartHint } from "../legacy/v1-mounts.ts";
import { isOurs } from "../mounts/mount-table.ts";
import type { NodeParts } from "../node-parts.ts";
import type { MountRecord } from "../records/mount-records.ts";
import { recordOfRunning } from "../records/running-users.ts";
import { askSource } from "../source/ask-source.ts";
import { mountSource, removeSource } from "../source/mount-source.ts";
import { bindTarget, isBound, proveServing } from "./bind-target.ts";
import { failureAt } from "./failure-at.ts";
import { mountEnvironment } from "./mount-environment.ts";
import { type MountState, planSource, planTarget } from "./plan.ts";
import type { PublishIntent } from "./publish-request.ts";

/**
 * kubelet waits two minutes and discards a later answer together with its reason. The limit is half of that: until the call
 * returns, kubelet shows no event and cannot terminate the Pod, and the next call continues where this one ended.
 */
const publishLimitMs = 60_000;
/** Time to send the answer before the caller's deadline. */
const answerTakesMs = 1000;

/** Idempotent: kubelet repeats the call about every minute for running workloads (requiresRepublish). */
export async function publish(call: Call, node: NodeParts, intent: PublishIntent): Promise<void> {
  using _oneAtATime = node.inFlight.enter(intent.target);
  const { workload, persistentVolume: volume, target } = intent;
  const limitMs = Math.min(publishLimitMs, (call.endsAtMs ?? Number.POSITIVE_INFINITY) - Date.now() - answerTakesMs);
  using limited = deadline(withFields(call, { workload, volume, target }), limitMs, "the volume to be mounted");
  try {
    await publishWithin(limited, node, intent);
  } catch (error) {
    // Functions of Node reject with an AbortError that hides the reason of the abort.
    if (call.signal.aborted) throw call.signal.reason;
    throw failureAt(node, target, couldNotMount(intent, error));
  }
}

async function publishWithin(call: Call, node: NodeParts, intent: PublishIntent): Promise<void> {
  const args = argumentsFor(node, intent);
  const mount = node.mounts().at(intent.target);
  const plan = planTarget({ ...(await observeTarget(call, node, mount)), wantsReadOnly: args.readOnly });
  call.log.debug("publish", { step: plan.do, because: plan.because });
  switch (plan.do) {
    case "keep":
      return refresh(node, intent, mount);
    case "keepV1":
      return refreshV1(node, intent);
    case "giveUp":
      throw new DriverError("notReady", plan.because, hintAbout(node, mount));
    case "giveUpV1":
      throw new DriverError("notReady", plan.because, { hint: restartHint });
    case "bind":
      return await connectWorkload(call, node, intent, args);
    default:
      return plan.do satisfies never;
  }
}

async function observeTarget(call: Call, node: NodeParts, mount: Mount | undefined) {
  const target = await inspectTarget(call, node, mount);
  if (mount === undefined) return { target, isReadOnly: false, isV1: false };
  const isV1 = isV1Mount(node, mount, node.mounts());
  if (target === "dead" && !isV1 && node.swapper !== undefined) node.sources.dead.notice(mount, podBehind(node, mount));
  return { target, isReadOnly: mount.readOnly, isV1 };
}

/** mount-s3 answers within a millisecond. */
const republishProbeLimitMs = 10_000;

async function inspectTarget(
  call: Call,
  { kernel }: NodeParts,
  mount: Mount | undefined,
): Promise<MountState | "hung"> {
  if (mount === undefined) return "nothing";
  if (!isOurs(mount)) return "foreign";
  const health = await kernel.probe(call, mount.mountPoint, republishProbeLimitMs);
  return health === "absent" ? "nothing" : health;
}

function hintAbout(node: NodeParts, mount: Mount | undefined): { readonly hint?: string } {
  const name = podBehind(node, mount);
  return name === undefined ? {} : { hint: node.mountpointPods.logsCommand(name) };
}

/** The Mountpoint Pod that serves a mount; undefined if its source is unmounted. */
function podBehind(node: NodeParts, mount: Mount | undefined): PodName | undefined {
  return mount && node.mounts().podBehind(mount);
}

/** Renews keys and record of a target that serves. A target whose Mountpoint Pod is not known stays as it is. */
function refresh(node: NodeParts, intent: PublishIntent, mount: Mount | undefined): void {
  const name = podBehind(node, mount);
  const pod = name && node.mountpointPods.get(name);
  if (pod === undefined) return;
  checkIdentity(pod, intent);
  refreshKeys(node, pod, intent.keys);
  recordUse(node, intent, pod.name);
}

/** Records the user of a mount, for the heal. The mount may be older than the records. */
function recordUse(node: NodeParts, intent: PublishIntent, name: PodName): void {
  if (node.records.get(name) === undefined) node.records.set(name, recordOf(node, intent));
  node.records.keepKeys(name, intent.keys);
  node.records.addUser(name, intent.target, { namespace: "", name: "", ...intent.workloadName, uid: intent.workload });
}

async function connectWorkload(
  call: Call,
  node: NodeParts,
  intent: PublishIntent,
  args: MountArguments,
): Promise<void> {
  const name = await node.attachments.waitForAssignment(call, intent);
  // The unmount loop skips the source during a publish: it must check the source again afterwards, also after a failure.
  using _after = { [Symbol.dispose]: () => node.unmounts.add(name) };
  // From here on the unmount loop leaves the source mounted.
  using _publishing = node.sources.publishing(name);
  await node.sources.bringUp(call, name, () => bringUp(withFields(call, { mountpointPod: name }), node, intent, name));
  const readOnly = args.readOnly || (await node.mountpointPods.waitUntilKnown(call, name)).readOnly;
  const { kubeletDir } = node.config;
  const bind = { kubeletDir, source: sourcePath(kubeletDir, name), target: intent.target, readOnly };
  await waitForHeal(call, node, intent.target);
  if (!isBound(node.mounts(), bind)) {
    bindTarget(node, bind);
    await proveServing(call, node.kernel, bind);
  }
  recordUse(node, intent, name);
  call.log.info("published", { mountpointPod: name, readOnly });
}

/** Waits for one attempt to heal a dead mount at the target: now that the source serves, the dead mount can be replaced. */
async function waitForHeal(call: Call, { mounts, sources }: NodeParts, target: string): Promise<void> {
  const mount = mounts().at(target);
  if (mount !== undefined) await sources.dead.waitForAttempt(call, mount.minor);
}

/** Resolves when the source serves with the current keys. */
async function bringUp(call: Call, node: NodeParts, intent: PublishIntent, name: PodName): Promise<void> {
  const pod = await waitUntilScheduled(call, node, intent.workload, name);
  checkIdentity(pod, intent);
  const plan = planSource(await inspectSource(call, node, name));
  call.log.info("source", { step: plan.do, because: plan.because });
  switch (plan.do) {
    case "keep":
      if (pod.needsUnmount) throw new DriverError("notReady", `Mountpoint Pod ${name} ${unusableReason(pod)}`);
      return refreshKeys(node, pod, intent.keys);
    case "remount":
      removeSource(node, name);
      return await mountIntent(call, node, intent, name);
    case "mount":
      return await mountIntent(call, node, intent, name);
    default:
      return plan.do satisfies never;
  }
}

async function inspectSource(call: Call, node: NodeParts, name: PodName): Promise<MountState> {
  const mount = node.mounts().at(sourcePath(node.config.kubeletDir, name));
  if (mount === undefined) return "nothing";
  if (!isOurs(mount)) return "foreign";
  const health = await askSource(call, node, name);
  return health === "absent" ? "nothing" : health;
}

/** Mounts the source. If running workloads use it, their bucket and options win over those of the current PersistentVolume. */
async function mountIntent(call: Call, node: NodeParts, intent: PublishIntent, name: PodName): Promise<void> {
  for (const warning of argumentsFor(node, intent).warnings) call.log.info("mount options changed", { warning });
  const wanted = recordOf(node, intent);
  const running = recordOfRunning(node, name);
  const record = running === undefined ? wanted : asMounted(running, wanted);
  if (
    record.request.bucketName !== wanted.request.bucketName ||
    !isDeepStrictEqual(record.request.args, wanted.request.args)
  ) {
    call.log.info("running workloads keep bucket and options, which the PersistentVolume or the driver has changed");
  }
  const { request, workload, volumeId, pidNamespace } = record;
  const keys = { keys: await keysFor(call, node, intent), workload, volumeId };
  await mountSource(call, node, { mountpointPod: name, request, keys, pidNamespace });
  node.records.set(name, record);
}

/**
 * The record of running workloads with the current keys and environment. The identity behind the keys was checked against the
 * Mountpoint Pod. Endpoint, region and proxy of the driver may have changed, and the old ones may not work any more.
 */
function asMounted(running: MountRecord, { keys, request: { env } }: MountRecord): MountRecord {
  return { ...running, keys, request: { ...running.request, env } };
}

/** The record of everything that mount-s3 is started with. */
function recordOf(node: NodeParts, intent: PublishIntent): MountRecord {
  const { persistentVolume, volumeId, workload, keys } = intent;
  const { bucket, proxy, pidNamespace: wanted } = intent.attributes;
  const { args, env } = argumentsFor(node, intent);
  const request = {
    bucketName: bucket,
    args,
    env: mountEnvironment(node.config, { ...env, ...proxy, ...logEnvironment(args) }),
  };
  const pidNamespace = choosePidNamespace(node.config.pidNamespaces, wanted);
  return { persistentVolume, volumeId, workload, request, keys, pidNamespace };
}

function argumentsFor({ driverVersion, kubernetesVersion }: NodeParts, intent: PublishIntent): MountArguments {
  const credentialSource = intent.keys === undefined ? "driver" : "secret";
  return mountArguments({
    options: intent.mountOptions,
    readOnly: intent.readOnly,
    fsGroup: intent.fsGroup,
    region: intent.region,
    prefix: intent.attributes.prefix,
    cache: intent.attributes.cache,
    userAgentPrefix: userAgentPrefix({ driverVersion, credentialSource, kubernetesVersion: kubernetesVersion() }),
  });
}

/** Adds the text of 2.x, which users search for. Kind and hint stay; an error that is no DriverError stays an internal error. */
function couldNotMount({ attributes, target }: PublishIntent, error: unknown): Error {
  const what = `Could not mount "${attributes.bucket}" at "${target}"`;
  if (!(error instanceof DriverError)) return new Error(what, { cause: error });
  const { kind, message, hint, cause } = error;
  return new DriverError(kind, `${what}: ${message}`, hint === undefined ? { cause } : { cause, hint });
}
