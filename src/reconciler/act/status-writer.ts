/** Writes the controller's part of the status of attachments. Without the permission, the reconciler works without statuses. */
import { statusManagers } from "../../core/attachment-status.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { kinds } from "../../kube/kinds.ts";
import { MissingRight } from "../../kube/missing-right.ts";
import type { Call } from "../../runtime/call.ts";
import type { NewStatus } from "../decision/new-statuses.ts";
import type { View } from "../observe/view.ts";
import { untilAttachment } from "./attempt.ts";

export class StatusWriter {
  readonly #client: Pick<KubeClient, "applyStatus">;
  readonly #view: View;
  readonly #right = new MissingRight();

  constructor(client: Pick<KubeClient, "applyStatus">, view: View) {
    this.#client = client;
    this.#view = view;
  }

  /** Rejects with an error that a retry may overcome. */
  async write(call: Call, statuses: readonly NewStatus[]): Promise<void> {
    for (const each of statuses) {
      if (this.#right.waitMs > 0) return;
      await this.#writeOne(call, each);
    }
  }

  async #writeOne(call: Call, { attachment, status }: NewStatus): Promise<void> {
    const { name, uid, resourceVersion } = attachment.metadata;
    // The attachment has changed since: the status is outdated, and the change has queued its volume on its node again.
    if (this.#view.attachments.get(name)?.metadata.resourceVersion !== resourceVersion) return;
    const applied = { manager: statusManagers.controller, status };
    try {
      const written = await this.#client.applyStatus(call, kinds.attachments, { name, uid }, applied);
      this.#right.granted();
      // With the CRD of 2.x the API server drops unknown fields: nothing has changed, so no new version follows.
      if (written.metadata.resourceVersion === resourceVersion) return;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.isForbidden) this.#right.refused(call.log, "the status of attachments cannot be written", error);
      else if (!error.isNotFound && !error.isConflict) throw error;
      return;
    }
    await untilAttachment(
      call,
      { view: this.#view },
      name,
      (seen) => seen?.metadata.resourceVersion !== resourceVersion,
    );
  }
}
