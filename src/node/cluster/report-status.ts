/** Writes the node's part of the status of its own attachments whenever it changes (OP-5). */
import { isSameStatus, statusManagers } from "../../core/attachment-status.ts";
import type { PodName } from "../../core/names.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { runController } from "../../kube/controller/run-controller.ts";
import { type Outcome, WorkQueue } from "../../kube/controller/work-queue.ts";
import { kinds } from "../../kube/kinds.ts";
import { MissingRight } from "../../kube/missing-right.ts";
import type { Call } from "../../runtime/call.ts";
import { orAborted } from "../../runtime/or-aborted.ts";
import type { SourceRegistry } from "../source/source-registry.ts";
import type { Attachments, LocalAttachment } from "./attachments.ts";
import { nodeStatusOf } from "./node-status.ts";

interface Reported {
  readonly attachments: Attachments;
  readonly sources: SourceRegistry;
}

type Api = Pick<KubeClient, "applyStatus">;

/** A volume is usually mounted within a second: a new attachment gets its first status only after this delay. */
const firstReportDelayMs = 3000;

/** Reports until the call ends. Without the right to patch, which manifests of 2.x do not grant, only the status is missing. */
export async function reportStatus(call: Call, client: Api, reported: Reported): Promise<void> {
  const { attachments, sources } = reported;
  using queue = new WorkQueue<string>();
  await Promise.all([attachments.store.synced(call), orAborted(call, sources.firstRound)]);
  using _attachments = attachments.store.subscribe(({ key, after }) => {
    if (after !== undefined) queue.add(key);
  });
  using _sources = sources.onChange((name) => {
    for (const attachment of attachments.store.values()) if (lists(attachment, name)) queue.add(attachment.name);
  });
  for (const { name } of attachments.store.values()) queue.add(name);
  const reporter = new Reporter(client, reported);
  const reconcile = (attempt: Call, name: string) => reporter.report(attempt, name);
  await runController(call, { queue, workers: 1, reconcile });
}

function lists({ mountpointS3PodAttachments }: LocalAttachment, name: PodName): boolean {
  return mountpointS3PodAttachments[name] !== undefined;
}

class Reporter {
  readonly #client: Api;
  readonly #attachments: Attachments;
  readonly #sources: SourceRegistry;
  /** Attachments without a status whose first report was delayed. */
  readonly #delayed = new Set<string>();
  readonly #right = new MissingRight();

  constructor(client: Api, { attachments, sources }: Reported) {
    this.#client = client;
    this.#attachments = attachments;
    this.#sources = sources;
  }

  async report(call: Call, name: string): Promise<Outcome> {
    const attachment = this.#attachments.store.get(name);
    return attachment === undefined ? { kind: "done" } : await this.#reportOf(call, attachment);
  }

  async #reportOf(call: Call, attachment: LocalAttachment): Promise<Outcome> {
    const { name } = attachment;
    this.#adoptReport(attachment);
    const status = nodeStatusOf(attachment, (pod) => this.#sources.get(pod), new Date());
    if (isSameStatus(attachment.status, status)) return { kind: "done" };
    const { conditions: reported = [] } = attachment.status;
    if (reported.length === 0 && status.conditions?.[0]?.status !== "True" && !this.#delayed.has(name)) {
      this.#delayed.add(name);
      return { kind: "again", afterMs: firstReportDelayMs, because: "the volume is being mounted" };
    }
    this.#delayed.delete(name);
    if (this.#right.waitMs === 0) await this.#write(call, attachment, status);
    const { waitMs: afterMs } = this.#right;
    return afterMs > 0 ? { kind: "again", afterMs, because: "the right to report it is missing" } : { kind: "done" };
  }

  async #write(call: Call, { name, uid }: LocalAttachment, status: object): Promise<void> {
    try {
      await this.#client.applyStatus(call, kinds.attachments, { name, uid }, { manager: statusManagers.node, status });
      this.#right.granted();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.isForbidden) {
        this.#right.refused(
          call.log,
          "the status of attachments is not reported: the right to patch it is missing",
          error,
        );
      } else if (!error.isNotFound && !error.isConflict) throw error; // deleted or replaced: the watch delivers another event
    }
  }

  /** Adopts deaths and heals that an earlier node plugin reported. */
  #adoptReport({ status }: LocalAttachment): void {
    for (const [pod, { lastDeath, heals = 0 }] of Object.entries(status.mountpointPods ?? {})) {
      const death = lastDeath === undefined ? undefined : new Date(lastDeath);
      this.#sources.observe(pod as PodName, { saw: "report", lastDeath: death, heals });
    }
  }
}
