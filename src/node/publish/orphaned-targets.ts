/**
 * LC-3: kubelet can forget a volume that is mounted. After a successful NodePublishVolume it reads the claim; if the claim is gone,
 * the mount failed for kubelet, and if its next attempt fails before NodePublishVolume, kubelet records the volume as unmounted and
 * never calls NodeUnpublishVolume. The bind mount would keep the Mountpoint Pod until kubelet restarts. The node plugin removes the
 * target of a Pod that is gone.
 */
import { ProblemLog } from "../../kube/problem-log.ts";
import type { Call } from "../../runtime/call.ts";
import type { Pulses } from "../../runtime/progress.ts";
import { targetAt } from "../domain/target-path.ts";
import { lookRegularly } from "../mounts/look-regularly.ts";
import { isOurs } from "../mounts/mount-table.ts";
import { needFor } from "../source/unmount-loop.ts";
import type { PublishRoom } from "./publish-room.ts";
import { removeTarget } from "./unpublish.ts";

/** kubelet unpublishes within seconds after the last container. Its call may also come later: there is nothing left to do then. */
const kubeletTakesMs = 30_000;

/** Runs until the call ends. */
export async function removeOrphanedTargets(call: Call, room: PublishRoom, progress: Pulses): Promise<void> {
  const orphans = new OrphanedTargets(room);
  await lookRegularly(call, progress, "orphaned targets", () => orphans.look(call));
}

export class OrphanedTargets {
  readonly #room: PublishRoom;
  /** When each target was first seen without a Pod, in ms of a clock that never jumps. Seen without interruption since then. */
  #since = new Map<string, number>();
  readonly #problems = new ProblemLog();

  constructor(room: PublishRoom) {
    this.#room = room;
  }

  /** Synchronous from the last check to the unmounts. */
  look(call: Call, nowMs = performance.now()): void {
    const seen = orphanedTargets(this.#room).map((target) => [target, this.#since.get(target) ?? nowMs] as const);
    this.#since = new Map(seen);
    for (const [target, since] of seen) if (nowMs - since >= kubeletTakesMs) this.#remove(call, target);
  }

  #remove(call: Call, target: string): void {
    try {
      removeTarget(call, this.#room, target);
      this.#room.metrics.orphanedTargets.inc();
      call.log.info("removed a target that kubelet did not unpublish: its Pod is gone", { target });
      this.#problems.resolve(target);
    } catch (error) {
      this.#problems.report(call.log, target, "could not remove an orphaned target", { target, error });
    }
  }
}

/**
 * Targets of Pods that are gone. The reconciler removes a workload from its attachment once kubelet reports that its containers have
 * stopped or that the Pod is gone, and annotates a Mountpoint Pod without workloads. A process of the Pod, the sandbox included,
 * means that kubelet still has it. Mounts of 1.x have no Mountpoint Pod, and are never orphaned.
 */
function orphanedTargets({ mounts, cluster, sources }: PublishRoom): readonly string[] {
  const { attachments, mountpointPods } = cluster;
  if (!mountpointPods.store.isSynced) return [];
  const table = mounts.table();
  const candidates = table.all.filter(isOurs).flatMap((mount) => {
    const workload = targetAt(mounts.kubeletDir, mount.mountPoint)?.workload;
    if (workload === undefined || !attachments.isUnattached(workload)) return [];
    const name = table.podBehind(mount);
    const isNeeded =
      name === undefined || sources.registry.isPublishing(name) || needFor(mountpointPods.get(name)) === "needed";
    return isNeeded ? [] : [{ target: mount.mountPoint, workload }];
  });
  if (candidates.length === 0) return [];
  const running = mounts.kernel.podsWithProcesses();
  // Without a view of the processes, a container that still runs cannot be excluded. On a node with a node plugin, and with a Mountpoint Pod or
  // a Pod of somebody else, no Pod with a process means that cgroups do not name the Pods.
  if (running === undefined || running.size === 0) return [];
  return [...new Set(candidates.filter(({ workload }) => !running.has(workload)).map(({ target }) => target))];
}
