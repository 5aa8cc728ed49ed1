/** Ends the sources that nobody needs: marked by the controller, or left over when their Mountpoint Pod is gone. */
import type { PodName } from "../../core/names.ts";
import { runController } from "../../kube/controller/run-controller.ts";
import type { Call } from "../../runtime/call.ts";
import type { LocalMountpointPod } from "../cluster/mountpoint-pods.ts";
import { sourcePath, sourcesDir } from "../domain/target-path.ts";
import type { NodeParts } from "../node-parts.ts";
import { planUnmount, type UnmountPlan } from "../publish/plan.ts";
import { removeSource } from "./mount-source.ts";

const workers = 4;

/** Ends with the call. Nothing happens before every Mountpoint Pod of the node is known: "gone" would mean nothing. */
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
      if (endIfUnneeded(attempt, node, name) === "later") stillUsed.add(name);
      else stillUsed.delete(name);
      return { kind: "done" };
    },
  });
}

/** What looks like one of ours. Anything else in the directory is none of our business. */
function sourceNames({ config, kernel }: NodeParts): readonly PodName[] {
  return kernel.namesIn(sourcesDir(config.kubeletDir)).filter((name) => name.startsWith("mp-")) as PodName[];
}

/** Synchronous from the look to the last step, so that no publish comes in between. */
function endIfUnneeded(call: Call, node: NodeParts, name: PodName): UnmountPlan["do"] {
  const { kubeletDir } = node.config;
  const pod = node.mountpointPods.get(name);
  const mounts = node.mounts();
  const mount = mounts.at(sourcePath(kubeletDir, name));
  const plan = planUnmount({
    mountpointPod: stateOf(pod),
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
 * One that is being deleted serves those who have it until its grace period is over, and nobody else. In a drain the
 * controller may be gone already, and nobody marks it: without users it need not wait for that.
 */
function stateOf(pod: LocalMountpointPod | undefined): "needed" | "needsUnmount" | "gone" {
  if (pod === undefined) return "gone";
  return pod.needsUnmount || pod.terminating ? "needsUnmount" : "needed";
}

/** Before the unmount, so that a mounter which is just being started again ends, too. Its volume may be gone (LC-16). */
function askToExit({ comm }: NodeParts, pod: LocalMountpointPod): void {
  using volume = comm.open(pod.uid);
  volume?.askToExit();
}
