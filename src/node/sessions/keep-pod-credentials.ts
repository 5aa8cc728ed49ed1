/** Renewed credentials of service accounts reach every mount that uses them, and the workloads learn when they do not (ID-2). */
import { type Identity, parseIdentity } from "../../core/identity.ts";
import type { EventRecorder } from "../../kube/events.ts";
import type { Call } from "../../runtime/call.ts";
import { describeError } from "../../runtime/log.ts";
import type { LocalMountpointPod, MountpointPods } from "../cluster/mountpoint-pods.ts";
import { type MountCredentials, tryRefresh } from "../credentials/credentials.ts";
import { emitOnUsers } from "../heal/emit-on-users.ts";
import type { MountRecords } from "../records/mount-records.ts";
import type { PodSessions, SessionChange, SessionNeed } from "./pod-sessions.ts";
import { identityOf } from "./session-entry.ts";

interface Needed {
  readonly sessions: PodSessions;
  readonly credentials: MountCredentials;
  readonly mountpointPods: MountpointPods;
  readonly records: MountRecords;
  readonly events: Pick<EventRecorder, "record">;
}

/** Runs until the call ends. */
export async function renewPodCredentials(call: Call, needed: Needed): Promise<void> {
  const { sessions, mountpointPods } = needed;
  using _changes = sessions.onChange((each, change) => react(each, needed, change));
  using _gone = mountpointPods.store.subscribe(({ before, after }) => {
    const isGone = after === undefined && before?.identity !== undefined;
    if (isGone && parseIdentity(before.identity)?.source === "pod") sessions.recheck();
  });
  await Promise.all([sessions.run(call, (identity) => needOf(needed, identity)), recheckOnceSynced(call, needed)]);
}

/** Sessions of an earlier process may be without a mount by now. */
async function recheckOnceSynced(call: Call, { sessions, mountpointPods }: Needed): Promise<void> {
  await mountpointPods.store.synced(call);
  sessions.recheck();
}

/** Workloads count although their Mountpoint Pod has gone: until its successor serves them, their mounts are healed with the session. */
function needOf({ mountpointPods: { store }, records }: Needed, identity: Identity): SessionNeed {
  const accesses = records.uses.map(({ holder }) => records.get(holder)?.access);
  if (accesses.some((access) => access?.source === "pod" && identityOf(access) === identity)) return "workload";
  if (!store.isSynced) return "mountpointPod"; // it may exist
  return Array.from(store.values()).some((pod) => pod.identity === identity) ? "mountpointPod" : "nothing";
}

function react(call: Call, needed: Needed, change: SessionChange): void {
  const pods = [...needed.mountpointPods.store.values()].filter(({ identity }) => identity === change.identity);
  if (change.kind === "renewed") {
    const results = pods.map((pod) => ({ pod, failure: refreshFailure(needed, pod) }));
    const failures = results.flatMap(({ failure }) => failure?.text ?? []);
    call.log.info("credentials of a service account were renewed", { mountpointPods: pods.length, failures });
    for (const { pod, failure } of results) {
      if (failure !== undefined) {
        const message = `${notGiven}: ${failure.text}`;
        emit(call, needed, [pod], { reason: "CredentialsNotRenewed", message, ...fixOf(failure) });
      } else if (change.wasReported) {
        emit(call, needed, [pod], { reason: "CredentialsRenewed", message: renewed });
      }
    }
    return;
  }
  const state = change.ended
    ? "The credentials of the volume have ended, and requests to the object store fail"
    : notRenewed;
  const message = `${state}: ${describeError(change.error)}`;
  emit(call, needed, pods, {
    reason: "CredentialsNotRenewed",
    message,
    ...fixOf(change.error as { readonly hint?: string }),
  });
}

function fixOf({ hint }: { readonly hint?: string | undefined }): { readonly fix?: string } {
  return hint === undefined ? {} : { fix: hint };
}

const notRenewed = "The credentials of the volume cannot be renewed, and work until they end";
const notGiven = "The renewed credentials of the volume cannot be given to its mount-s3";
const renewed = "The credentials of the volume were renewed: it works again";

function refreshFailure({ credentials, records }: Needed, pod: LocalMountpointPod): ReturnType<typeof tryRefresh> {
  const access = records.get(pod.name)?.access;
  return access === undefined ? undefined : tryRefresh(credentials, pod, access);
}

type Reported = Parameters<typeof emitOnUsers>[3];

function emit(call: Call, { records, events }: Needed, pods: readonly LocalMountpointPod[], happening: Reported): void {
  const holders = new Set(pods.map(({ name }) => name));
  const targets = records.uses.flatMap(({ target, holder }) => (holders.has(holder) ? [target] : []));
  emitOnUsers(call, { records, events }, targets, happening);
}
