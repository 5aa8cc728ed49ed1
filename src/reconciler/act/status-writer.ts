/** Writes what the controller says about attachments. Without the right to do so, everything else goes on. */
import { statusManagers } from "../../core/attachment-status.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { kinds } from "../../kube/kinds.ts";
import { MissingRight } from "../../kube/missing-right.ts";
import type { Call } from "../../runtime/call.ts";
import type { NewStatus } from "../decision/new-statuses.ts";
import type { View } from "../observe/view.ts";
import { untilAttachment } from "./act.ts";

export class StatusWriter {
  readonly #client: Pick<KubeClient, "applyStatus">;
  readonly #view: View;
  readonly #right = new MissingRight();

  constructor(client: Pick<KubeClient, "applyStatus">, view: View) {
    this.#client = client;
    this.#view = view;
  }

  /** Rejects where trying again may help. */
  async write(call: Call, statuses: readonly NewStatus[]): Promise<void> {
    for (const each of statuses) {
      if (this.#right.waitMs > 0) return;
      await this.#writeOne(call, each);
    }
  }

  async #writeOne(call: Call, { attachment, status }: NewStatus): Promise<void> {
    const { name, uid, resourceVersion } = attachment.metadata;
    // Written since: what was decided about the former version is old, and the new one brings its place back.
    if (this.#view.attachments.get(name)?.metadata.resourceVersion !== resourceVersion) return;
    const said = { manager: statusManagers.controller, status };
    try {
      const written = await this.#client.applyStatus(call, kinds.attachments, { name, uid }, said);
      this.#right.granted();
      // A kind of 2.x drops what it does not know: then nothing has changed, and there is nothing to wait for.
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
