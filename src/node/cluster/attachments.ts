import { type AttachmentSpec, holderOf } from "../../core/attachment.ts";
import { type AttachmentStatus, nodePart, unplacedIn } from "../../core/attachment-status.ts";
import { DriverError } from "../../core/errors.ts";
import type { NodeName, PodName, PodUid } from "../../core/names.ts";
import { kinds, type MountpointS3PodAttachment } from "../../kube/kinds.ts";
import { Store } from "../../kube/watch/store.ts";
import { type Watched, type Watcher, watch } from "../../kube/watch/watch.ts";
import type { Call } from "../../runtime/call.ts";
import type { Pulses } from "../../runtime/progress.ts";
import type { Target } from "../domain/target-path.ts";
import type { PublishIntent } from "../publish/publish-request.ts";
import { explainTimeout } from "./explain-timeout.ts";

export interface LocalAttachment extends AttachmentSpec {
  readonly name: string;
  readonly uid: string;
  /** What the node itself says in it. */
  readonly status: AttachmentStatus;
  /** Which Mountpoint Pod has no place on the node and why, as the controller says. */
  readonly unschedulable: string | undefined;
}

/** The attachments of this node: which Mountpoint Pod the controller chose for a workload. */
export class Attachments {
  readonly store = new Store<LocalAttachment, "workload">({
    workload: ({ mountpointS3PodAttachments }) =>
      Object.values(mountpointS3PodAttachments).flatMap((served) => served.map((entry) => entry.workloadPodUID)),
  });
  readonly #hint: string;

  /** `hint` tells an operator where to find the reason for a missing attachment. */
  constructor(hint: string) {
    this.#hint = hint;
  }

  /** Keeps the store up to date until the call ends. Servers before 1.31 cannot select by field, so we do it again. */
  async follow(call: Call, client: Watcher, node: NodeName, progress: Pulses): Promise<void> {
    const ours: Watched<MountpointS3PodAttachment, LocalAttachment> = {
      kind: kinds.attachments,
      turned: progress.pulse("watch over attachments"),
      fieldSelector: `spec.nodeName=${node}`,
      keep: ({ spec }) => spec.nodeName === node,
      trim: ({ metadata: { name, uid }, spec, status }) => ({
        ...(spec as AttachmentSpec),
        name,
        uid,
        status: nodePart(status),
        unschedulable: unplacedIn(status),
      }),
    };
    await watch(call, client, ours, this.store);
  }

  /** Surely in none; while the API server has not told everything, nobody is. */
  isUnattached(workload: PodUid): boolean {
    return this.store.isSynced && this.store.by("workload", workload).length === 0;
  }

  /** The Mountpoint Pod for this workload and volume, as soon as there is one. */
  async waitForAssignment(call: Call, intent: PublishIntent): Promise<PodName> {
    const { workload, persistentVolume, volumeId } = intent;
    const listed = () => new DriverError("notReady", "Failed to list MountpointS3PodAttachments", { hint: this.#hint });
    await explainTimeout(call, listed, this.store.synced(call));

    // Both spellings are searched for: the first by users of 2.x, the second in its documentation.
    const text = "failed to wait for MountpointS3PodAttachment: Timed out waiting for MountpointS3PodAttachment";
    const missing = () =>
      new DriverError("notReady", `${text} of Pod ${workload} and volume ${persistentVolume}`, { hint: this.#hint });
    const found = this.store.waitFor(call, { index: "workload", value: workload }, (specs) =>
      specs
        .filter((spec) => spec.persistentVolumeName === persistentVolume && spec.volumeID === volumeId)
        .map((spec) => holderOf(spec, workload))
        .find((holder) => holder !== undefined),
    );
    return await explainTimeout(call, missing, found);
  }

  /** Ends when the controller says that this Mountpoint Pod has no place on the node, with its words. */
  async waitUntilUnschedulable(call: Call, workload: PodUid, name: PodName): Promise<string> {
    return await this.store.waitFor(call, { index: "workload", value: workload }, (all) =>
      all.map(({ unschedulable }) => unschedulable).find((words) => words?.includes(name)),
    );
  }

  /** The same without waiting, for a target that was published before. */
  holderNow({ workload, persistentVolume }: Target): PodName | undefined {
    return this.store
      .by("workload", workload)
      .filter((spec) => spec.persistentVolumeName === persistentVolume)
      .map((spec) => holderOf(spec, workload))
      .find((holder) => holder !== undefined);
  }
}
