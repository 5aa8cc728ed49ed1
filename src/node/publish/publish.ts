/** NodePublishVolume: arguments → attachment → Mountpoint Pod → source → target → record. */
import { DriverError } from "../../core/errors.ts";
import type { PodName } from "../../core/names.ts";
import type { Mount } from "../../linux/mounts/mountinfo.ts";
import { type Call, deadline, withFields } from "../../runtime/call.ts";
import { checkIdentity, refreshCredentials } from "../credentials/credentials.ts";
import { sourcePath } from "../domain/target-path.ts";
import { isV1Mount, refreshV1, restartHint } from "../legacy/v1-mounts.ts";
import { isOurs } from "../mounts/mount-table.ts";
import { bindTarget, isBound, proveServing } from "./bind-target.ts";
import { ensureSource } from "./ensure-source.ts";
import { failureAt } from "./failure-at.ts";
import { type MountState, planTarget } from "./plan.ts";
import type { PublishIntent } from "./publish-request.ts";
import type { PublishRoom } from "./publish-room.ts";
import { type WantedMount, wantedMount } from "./wanted-mount.ts";

/**
 * kubelet waits two minutes and discards a later answer together with its reason. The limit is half of that: until the call
 * returns, kubelet shows no event and cannot terminate the Pod, and the next call continues where this one ended.
 */
const publishLimitMs = 60_000;
/** Time to send the answer before the caller's deadline. */
const answerTakesMs = 1000;

/** Idempotent: kubelet repeats the call about every minute for running workloads (requiresRepublish). */
export async function publish(call: Call, room: PublishRoom, intent: PublishIntent): Promise<void> {
  using _oneAtATime = room.inFlight.enter(intent.target);
  using _token = offerToken(room, intent);
  const { workload, persistentVolume: volume, volumeId, target } = intent;
  const limitMs = Math.min(publishLimitMs, (call.endsAtMs ?? Number.POSITIVE_INFINITY) - Date.now() - answerTakesMs);
  using limited = deadline(
    withFields(call, { workload, volume, volumeId, target }),
    limitMs,
    "the volume to be mounted",
  );
  try {
    await publishWithin(limited, room, intent);
  } catch (error) {
    // Functions of Node reject with an AbortError that hides the reason of the abort.
    if (call.signal.aborted) throw call.signal.reason;
    throw failureAt(room.mounts, target, couldNotMount(intent, error));
  }
}

/** ID-2. Every call of kubelet brings a newer token, from which the session of all mounts of the account is renewed. */
function offerToken({ credentials }: PublishRoom, { access, token }: PublishIntent): Disposable | undefined {
  return access.source === "pod" && token !== undefined ? credentials.sessions.offer(access, token) : undefined;
}

async function publishWithin(call: Call, room: PublishRoom, intent: PublishIntent): Promise<void> {
  const wanted = wantedMount(room.settings, room.cluster.kubernetesVersion, intent);
  const mount = room.mounts.table().at(intent.target);
  const plan = planTarget({ ...(await observeTarget(call, room, mount)), wantsReadOnly: wanted.readOnly });
  call.log.debug("publish", { step: plan.do, because: plan.because });
  switch (plan.do) {
    case "keep":
      return refresh(room, wanted, mount);
    case "keepV1":
      return refreshV1(room.v1, intent);
    case "giveUp":
      throw new DriverError("notReady", plan.because, hintAbout(room, mount));
    case "giveUpV1":
      throw new DriverError("notReady", plan.because, { hint: restartHint });
    case "bind":
      return await connectWorkload(call, room, wanted);
    default:
      return plan.do satisfies never;
  }
}

async function observeTarget(call: Call, room: PublishRoom, mount: Mount | undefined) {
  const target = await inspectTarget(call, room, mount);
  if (mount === undefined) return { target, isReadOnly: false, isV1: false };
  const isV1 = isV1Mount(room.v1, mount, room.mounts.table());
  if (target === "dead" && !isV1 && room.settings.entersContainers) {
    room.sources.registry.dead.notice(mount, podBehind(room, mount));
  }
  return { target, isReadOnly: mount.readOnly, isV1 };
}

/** mount-s3 answers within a millisecond. */
const republishProbeLimitMs = 10_000;

async function inspectTarget(
  call: Call,
  { mounts }: PublishRoom,
  mount: Mount | undefined,
): Promise<MountState | "hung"> {
  if (mount === undefined) return "nothing";
  if (!isOurs(mount)) return "foreign";
  const health = await mounts.kernel.probe(call, mount.mountPoint, republishProbeLimitMs);
  return health === "absent" ? "nothing" : health;
}

function hintAbout(room: PublishRoom, mount: Mount | undefined): { readonly hint?: string } {
  const name = podBehind(room, mount);
  return name === undefined ? {} : { hint: room.cluster.mountpointPods.logsCommand(name) };
}

/** The Mountpoint Pod that serves a mount; undefined if its source is unmounted. */
function podBehind({ mounts }: PublishRoom, mount: Mount | undefined): PodName | undefined {
  return mount && mounts.table().podBehind(mount);
}

/** Renews credentials and record of a target that serves. A target whose Mountpoint Pod is not known stays as it is. */
function refresh(room: PublishRoom, wanted: WantedMount, mount: Mount | undefined): void {
  const name = podBehind(room, mount);
  const pod = name && room.cluster.mountpointPods.get(name);
  if (pod === undefined) return;
  checkIdentity(pod, wanted.intent);
  refreshCredentials(room.credentials, pod, wanted.intent.access);
  recordUse(room, wanted, pod.name);
}

/** Records the user of a mount, for the heal. The mount may be older than the records. */
function recordUse({ records }: PublishRoom, { intent, record }: WantedMount, name: PodName): void {
  if (records.get(name) === undefined) records.set(name, record());
  records.keepAccess(name, intent.access);
  records.addUser(name, intent.target, { namespace: "", name: "", ...intent.workloadName, uid: intent.workload });
}

async function connectWorkload(call: Call, room: PublishRoom, wanted: WantedMount): Promise<void> {
  const { mounts, cluster, sources, metrics } = room;
  const { target } = wanted.intent;
  const name = await metrics.step("attachment", cluster.attachments.waitForAssignment(call, wanted.intent));
  // The unmount loop skips the source during a publish: it must check the source again afterwards, also after a failure.
  using _after = { [Symbol.dispose]: () => sources.unmounts.add(name) };
  // From here on the unmount loop leaves the source mounted.
  using _publishing = sources.registry.publishing(name);
  await ensureSource(call, sources, name, wanted);
  const readOnly = wanted.readOnly || (await cluster.mountpointPods.waitUntilKnown(call, name)).readOnly;
  const bind = { source: sourcePath(mounts.kubeletDir, name), target, readOnly };
  await waitForHeal(call, room, target);
  if (!isBound(mounts.table(), bind)) {
    bindTarget(mounts, bind);
    await metrics.step("bind", proveServing(call, mounts.kernel, bind));
  }
  recordUse(room, wanted, name);
  call.log.info("published", { mountpointPod: name, readOnly });
}

/** Waits for one attempt to heal a dead mount at the target: now that the source serves, the dead mount can be replaced. */
async function waitForHeal(call: Call, { mounts, sources }: PublishRoom, target: string): Promise<void> {
  const mount = mounts.table().at(target);
  if (mount !== undefined) await sources.registry.dead.waitForAttempt(call, mount.deviceId);
}

/** Adds the text of 2.x, which users search for. Kind and hint stay; an error that is no DriverError stays an internal error. */
function couldNotMount({ attributes, target }: PublishIntent, error: unknown): Error {
  const what = `Could not mount "${attributes.bucket}" at "${target}"`;
  if (!(error instanceof DriverError)) return new Error(what, { cause: error });
  const { kind, message, hint, cause } = error;
  return new DriverError(kind, `${what}: ${message}`, hint === undefined ? { cause } : { cause, hint });
}
