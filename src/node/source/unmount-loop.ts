/** Unmounts sources whose Mountpoint Pod has the needs-unmount annotation, is being deleted or is gone. */
import type { PodName } from "../../core/names.ts";
import { runController } from "../../kube/controller/run-controller.ts";
import type { Call } from "../../runtime/call.ts";
import type { LocalMountpointPod } from "../cluster/mountpoint-pods.ts";
import type { MountCredentials } from "../credentials/credentials.ts";
import { sourcePath, sourcesDir } from "../domain/target-path.ts";
import type { NodeMounts } from "../mounts/node-mounts.ts";
import { removeSource } from "./mount-source.ts";
import { planUnmount, type UnmountPlan } from "./plan-unmount.ts";
import type { SourceRoom } from "./source-room.ts";

const workers = 4;

/** Runs until the call ends. Waits for the initial list of Mountpoint Pods: until then a missing Pod is not known to be gone. */
export async function unmountUnneeded(call: Call, room: SourceRoom): Promise<void> {
  const { unmounts, records } = room;
  const { mountpointPods } = room.cluster;
  await mountpointPods.store.synced(call);
  using _changes = mountpointPods.store.subscribe(({ before, after }) => {
    const name = after?.name ?? before?.name;
    if (name !== undefined) unmounts.add(name);
  });
  const stillUsed = new Set<PodName>();
  using _mounts = room.mounts.kernel.onMountChange(() => {
    for (const name of stillUsed) unmounts.add(name);
  });
  for (const { name } of mountpointPods.store.values()) unmounts.add(name);
  for (const name of [...sourceNames(room.mounts), ...records.mountpointPods]) unmounts.add(name);
  await runController(call, {
    queue: unmounts,
    workers,
    reconcile: async (attempt, name) => {
      if (unmountIfUnneeded(attempt, room, name) === "later") stillUsed.add(name);
      else stillUsed.delete(name);
      return { kind: "done" };
    },
  });
}

/** Entries of the sources directory with the name of a Mountpoint Pod. Other entries are ignored. */
function sourceNames({ kubeletDir, kernel }: NodeMounts): readonly PodName[] {
  return kernel.namesIn(sourcesDir(kubeletDir)).filter((name) => name.startsWith("mp-")) as PodName[];
}

/** Synchronous from reading the mount table to the unmount, so that no publish runs in between. */
function unmountIfUnneeded(call: Call, room: SourceRoom, name: PodName): UnmountPlan["do"] {
  const pod = room.cluster.mountpointPods.get(name);
  const mounts = room.mounts.table();
  const mount = mounts.at(sourcePath(room.mounts.kubeletDir, name));
  const plan = planUnmount({
    mountpointPod: needFor(pod),
    binds: mount === undefined ? 0 : mounts.binds(mount).length,
    publishing: room.registry.isPublishing(name),
  });
  switch (plan.do) {
    case "leave":
      break;
    case "later":
      call.log.debug("source not unmounted yet", { mountpointPod: name, because: plan.because });
      break;
    case "unmount":
      if (pod !== undefined) askToExit(room.credentials, pod);
      room.records.remove(name);
      if (removeSource(room, name)) call.log.info("source unmounted", { mountpointPod: name, because: plan.because });
      break;
    default:
      return plan.do satisfies never;
  }
  return plan.do;
}

/**
 * A Mountpoint Pod that is being deleted serves its workloads until its grace period ends, and takes no new ones. During a drain
 * the controller may be gone and sets no needs-unmount annotation: the source is unmounted with its last user all the same.
 */
export function needFor(pod: LocalMountpointPod | undefined): "needed" | "needsUnmount" | "gone" {
  if (pod === undefined) return "gone";
  return pod.needsUnmount || pod.terminating ? "needsUnmount" : "needed";
}

/** Runs before the unmount, so that a mounter which kubelet restarts just now exits, too. The volume may be gone (LC-16). */
function askToExit({ comm }: MountCredentials, pod: LocalMountpointPod): void {
  using volume = comm.open(pod.uid);
  volume?.askToExit();
}
