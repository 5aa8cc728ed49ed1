/** Unmounts sources whose Mountpoint Pod has the needs-unmount annotation, is being deleted or is gone. */
import type { PodName } from "../../core/names.ts";
import { runController } from "../../kube/controller/run-controller.ts";
import type { Call } from "../../runtime/call.ts";
import type { LocalMountpointPod } from "../cluster/mountpoint-pods.ts";
import { sourcePath, sourcesDir } from "../domain/target-path.ts";
import type { NodeParts } from "../node-parts.ts";
import { planUnmount, type UnmountPlan } from "../publish/plan.ts";
import { removeSource } from "./mount-source.ts";

const workers = 4;

/** Runs until the call ends. Waits for the initial list of Mountpoint Pods: until then a missing Pod is not known to be gone. */
export async function unmountUnneeded(call: Call, node: NodeParts): Promise<void> {
  const { mountpointPods, unmounts } = node;
  await mountpointPods.store.synced(call);
  using _changes = mountpointPods.store.subscribe(({ before, after }) => {
    const name = after?.name ?? before?.name;
    if (name !== undefined) unmounts.add(name);
  });
  const stillUsed = new Set<PodName>();
  using _mounts = node.kernel.onMountChange(() => {
    for (const name of stillUsed) unmounts.add(name);
  });
  for (const { name } of mountpointPods.store.values()) unmounts.add(name);
  for (const name of [...sourceNames(node), ...node.records.mountpointPods]) unmounts.add(name);
  await runController(call, {
    queue: unmounts,
    workers,
    reconcile: async (attempt, name) => {
      if (unmountIfUnneeded(attempt, node, name) === "later") stillUsed.add(name);
      else stillUsed.delete(name);
      return { kind: "done" };
    },
  });
}

/** Entries of the sources directory with the name of a Mountpoint Pod. Other entries are ignored. */
function sourceNames({ config, kernel }: NodeParts): readonly PodName[] {
  return kernel.namesIn(sourcesDir(config.kubeletDir)).filter((name) => name.startsWith("mp-")) as PodName[];
}

/** Synchronous from reading the mount table to the unmount, so that no publish runs in between. */
function unmountIfUnneeded(call: Call, node: NodeParts, name: PodName): UnmountPlan["do"] {
  const { kubeletDir } = node.config;
  const pod = node.mountpointPods.get(name);
  const mounts = node.mounts();
  const mount = mounts.at(sourcePath(kubeletDir, name));
  const plan = planUnmount({
    mountpointPod: needFor(pod),
    binds: mount === undefined ? 0 : mounts.binds(mount).length,
    publishing: node.sources.isPublishing(name),
  });
  switch (plan.do) {
    case "leave":
      break;
    case "later":
      call.log.debug("source not unmounted yet", { mountpointPod: name, because: plan.because });
      break;
    case "unmount":
      if (pod !== undefined) askToExit(node, pod);
      node.records.remove(name);
      if (removeSource(node, name)) call.log.info("source unmounted", { mountpointPod: name, because: plan.because });
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
function needFor(pod: LocalMountpointPod | undefined): "needed" | "needsUnmount" | "gone" {
  if (pod === undefined) return "gone";
  return pod.needsUnmount || pod.terminating ? "needsUnmount" : "needed";
}

/** Runs before the unmount, so that a mounter which kubelet restarts just now exits, too. The volume may be gone (LC-16). */
function askToExit({ comm }: NodeParts, pod: LocalMountpointPod): void {
  using volume = comm.open(pod.uid);
  volume?.askToExit();
}
