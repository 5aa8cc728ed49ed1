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
  /** The part of the status that this node writes. */
  readonly status: AttachmentStatus;
  /** The controller's message about an unschedulable Mountpoint Pod; it names the Pod and the reason. */
  readonly unschedulable: string | undefined;
}

/** The attachments of this node: the Mountpoint Pods that the controller assigned to workloads. */
export class Attachments {
  readonly store = new Store<LocalAttachment, "workload">({
    workload: ({ mountpointS3PodAttachments }) =>
      Object.values(mountpointS3PodAttachments).flatMap((served) => served.map((entry) => entry.workloadPodUID)),
  });
  readonly #hint: string;

  /** `hint`: where an operator finds the reason for a missing attachment. */
  constructor(hint: string) {
    this.#hint = hint;
  }

  /**
   * Keeps the store up to date until the call ends. API servers before 1.31 do not support field selectors for custom resources,
   * so attachments of other nodes are filtered here as well.
   */
  async follow(call: Call, client: Watcher, node: NodeName, progress: Pulses): Promise<void> {
    const local: Watched<MountpointS3PodAttachment, LocalAttachment> = {
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
    await watch(call, client, local, this.store);
  }

  /** Whether no attachment lists the workload. False until the initial list is complete. */
  isUnattached(workload: PodUid): boolean {
    return this.store.isSynced && this.store.by("workload", workload).length === 0;
  }

  /** Waits until the controller has assigned a Mountpoint Pod to this workload and volume. */
  async waitForAssignment(call: Call, intent: PublishIntent): Promise<PodName> {
    const { workload, persistentVolume, volumeId } = intent;
    const notListed = () =>
      new DriverError("notReady", "Failed to list MountpointS3PodAttachments", { hint: this.#hint });
    await explainTimeout(call, notListed, this.store.synced(call));

    // Users of 2.x search for the first spelling; its documentation contains the second.
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

  /** Resolves to the controller's message when this Mountpoint Pod is unschedulable. */
  async waitUntilUnschedulable(call: Call, workload: PodUid, name: PodName): Promise<string> {
    return await this.store.waitFor(call, { index: "workload", value: workload }, (all) =>
      all.map(({ unschedulable }) => unschedulable).find((message) => message?.includes(name)),
    );
  }

  /** The Mountpoint Pod that is assigned to a target now, without waiting. */
  holderNow({ workload, persistentVolume }: Target): PodName | undefined {
    return this.store
      .by("workload", workload)
      .filter((spec) => spec.persistentVolumeName === persistentVolume)
      .map((spec) => holderOf(spec, workload))
      .find((holder) => holder !== undefined);
  }
}
