/** LC-21. What must hold whenever a rollout asks the workloads of a Mountpoint Pod to leave it, whatever the caches of the leader show. */
import { DriverError } from "../../src/core/errors.ts";
import { type MountpointPod, mountpointPodFrom } from "../../src/core/mountpoint-pod-state.ts";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import { differenceFrom, isStaying } from "../../src/reconciler/domain/move.ts";
import { s3VolumeFrom } from "../../src/reconciler/domain/persistent-volume.ts";
import { needsVolumes, workloadFrom } from "../../src/reconciler/domain/workload.ts";
import { plainStores } from "../support/fake-credentials.ts";
import type { ApiServer, Write, Writer } from "./api-server.ts";
import { BrokenRule } from "./broken-rule.ts";
import { isTerminating, phaseOf } from "./pod-state.ts";

interface World {
  readonly cluster: { readonly server: ApiServer };
}

interface Begun {
  readonly pod: MountpointPod;
  /** The workloads of the Mountpoint Pod when the move began; undefined: not all of them run. */
  readonly users: string | undefined;
}

export class RolloutRules {
  readonly #world: World;
  /** By the UID of the Mountpoint Pod. */
  readonly #begun = new Map<string, Begun>();

  constructor(world: World) {
    this.#world = world;
  }

  check({ before, after }: Write, by: Writer, isLeading: boolean): void {
    const [was, now] = [before, after].map((object) => object && mountpointPodFrom(object as Pod));
    if (now === undefined || was?.move.requested === now.move.requested || !isOfRollout(now)) return;
    // One of a former leader may arrive after the next one has listed everything.
    if (isLeading) this.#begun.set(now.uid, { pod: now, users: this.#usersOf(now) });
    else this.#begun.delete(now.uid);
    if (isLeading && by.release !== undefined) this.#checkBegin(now, by.release.rollout);
  }

  #checkBegin(pod: MountpointPod, rollout: NonNullable<Writer["release"]>["rollout"]): void {
    const { strategy, isPaused, maxPerNode, maxParallel, maxFailures } = rollout;
    if (strategy === "manual" || isPaused) throw new BrokenRule(`${pod.name} is to move, and the rollout is paused`);
    const active = [...this.#active(pod)];
    const onNode = active.filter(({ node }) => node === pod.node);
    if (onNode.length > maxPerNode) throw new BrokenRule(`${onNode.length} move at once on ${pod.node}`);
    if (active.length > maxParallel) throw new BrokenRule(`${active.length} move at once`);
    const failed = this.#pods().filter((other) => {
      const serves = isStaying(other) && (this.#listOf(other)?.length ?? 0) > 0;
      return serves && other.move.failed.includes(pod.move.requested ?? "") && !this.#isSkipped(other);
    });
    // What has failed a moment ago counted among those that move until then. All claims are in one namespace.
    if (failed.length + active.length > maxFailures - 1 + maxParallel)
      throw new BrokenRule(`${pod.name} is to move after ${failed.length} moves have failed`);
  }

  /** Its volume has changed since it was mounted, or cannot be served: that says nothing about the rollout. */
  #isSkipped(pod: MountpointPod): boolean {
    const object = this.#world.cluster.server.get(kinds.persistentVolumes, { name: pod.persistentVolume });
    const { mountOptions = "" } = this.#attachmentOf(pod)?.spec ?? {};
    try {
      const volume = object && s3VolumeFrom(plainStores, object);
      return volume === undefined || differenceFrom(pod, volume, mountOptions) !== undefined;
    } catch (error) {
      if (error instanceof DriverError) return true;
      throw error;
    }
  }

  #attachmentOf({ name }: MountpointPod) {
    const all = this.#world.cluster.server.all(kinds.attachments);
    return all.find(({ spec }) => name in spec.mountpointS3PodAttachments);
  }

  /** Those that the leader must count, `pod` among them. */
  *#active(pod: MountpointPod): Generator<MountpointPod> {
    yield pod;
    for (const other of this.#pods()) if (other.uid !== pod.uid && this.#isActive(other)) yield other;
  }

  /**
   * A leader may see its workloads late, and a move counts only while one of them runs. So those are left out whose workloads have changed since
   * the move began, until they are listed at the successor.
   */
  #isActive(pod: MountpointPod): boolean {
    const begun = this.#begun.get(pod.uid);
    if (!isOfRollout(pod) || !isStaying(pod) || begun === undefined) return false;
    const listed = this.#listOf(pod);
    if (listed?.length === 0) return begun.users !== undefined && this.#haveMoved(pod, begun.users);
    return begun.users !== undefined && begun.users === this.#usersOf(pod);
  }

  /** All of these workloads run, and a successor serves them. */
  #haveMoved({ name }: MountpointPod, users: string): boolean {
    const successors = this.#pods().filter(({ move }) => move.replaces === name);
    return successors.some((successor) => this.#usersOf(successor) === users);
  }

  #usersOf(pod: MountpointPod): string | undefined {
    const listed = this.#listOf(pod) ?? [];
    const { server } = this.#world.cluster;
    const running = new Set(
      server
        .all(kinds.pods)
        .filter((each) => phaseOf(each) === "Running" && !isTerminating(each) && needsVolumes(workloadFrom(each)))
        .map(({ metadata }) => metadata.uid),
    );
    const isSteady = listed.length > 0 && listed.every((uid) => running.has(uid));
    return isSteady ? listed.toSorted().join() : undefined;
  }

  /** undefined: no attachment lists it. */
  #listOf({ name }: MountpointPod): readonly string[] | undefined {
    const lists = this.#world.cluster.server
      .all(kinds.attachments)
      .flatMap(({ spec: { mountpointS3PodAttachments: all } }) => (name in all ? [all[name] ?? []] : []));
    return lists.length === 0 ? undefined : lists.flat().map(({ workloadPodUID }) => workloadPodUID);
  }

  #pods(): readonly MountpointPod[] {
    return this.#world.cluster.server.all(kinds.pods).flatMap((pod) => mountpointPodFrom(pod) ?? []);
  }
}

/** It has a request of a rollout that has not failed. */
function isOfRollout({ move: { requested, failed } }: MountpointPod): boolean {
  return requested?.startsWith("rollout-") === true && !failed.includes(requested);
}
