/** What became of a stage's Mountpoint Pods and attachments, in the order in which the API server accepted it. */
import type { WatchEvent } from "../../src/kube/client/client.ts";
import { type Kind, type KubeObject, kinds, type MountpointS3PodAttachment, type Pod } from "../../src/kube/kinds.ts";
import { isMarked, type Stage, servedBy } from "./stage.ts";

interface Line {
  /** All objects take their versions from one counter, that of etcd. */
  readonly version: bigint;
  readonly about: string;
  readonly text: string;
}

export class Journal implements AsyncDisposable {
  readonly #lines: Line[] = [];
  readonly #stop = new AbortController();
  readonly #reading: Promise<void>[] = [];

  /** Everything from now on. */
  static async open(stage: Stage): Promise<Journal> {
    const journal = new Journal();
    const ours = ({ spec }: MountpointS3PodAttachment) => spec.persistentVolumeName.startsWith(stage.name);
    await journal.#follow(stage, kinds.pods, podText);
    await journal.#follow(stage, kinds.attachments, (event) =>
      ours(event.object) ? attachmentText(event) : undefined,
    );
    return journal;
  }

  /** One line for each thing that happened to an object. */
  get story(): readonly string[] {
    const last = new Map<string, string>();
    const news = ({ about, text }: Line) => last.get(about) !== text && last.set(about, text);
    return this.#lines
      .toSorted((a, b) => Number(a.version - b.version))
      .filter(news)
      .map(({ text }) => text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#reading);
  }

  async #follow<Shape extends KubeObject>(
    stage: Stage,
    kind: Kind<Shape>,
    textOf: (event: Change<Shape>) => string | undefined,
  ): Promise<void> {
    const call = { signal: this.#stop.signal, log: stage.call.log };
    const events = await stage.client.watch(call, kind, { namespace: stage.mountpointNamespace }, {});
    this.#reading.push(this.#read(events, textOf));
  }

  async #read<Shape extends KubeObject>(
    events: AsyncGenerator<WatchEvent<Shape>>,
    textOf: (event: Change<Shape>) => string | undefined,
  ): Promise<void> {
    for await (const event of events) {
      if (event.type === "ERROR") throw new Error(event.object.message);
      const text = textOf(event);
      const { uid, resourceVersion } = event.object.metadata;
      if (text !== undefined) this.#lines.push({ version: BigInt(resourceVersion), about: uid, text });
    }
  }
}

type Change<Shape> = Exclude<WatchEvent<Shape>, { readonly type: "ERROR" }>;

function podText({ type, object }: Change<Pod>): string {
  if (type === "DELETED") return "Mountpoint Pod gone";
  return isMarked(object) ? "Mountpoint Pod marked" : "Mountpoint Pod made";
}

function attachmentText({ type, object }: Change<MountpointS3PodAttachment>): string {
  if (type === "DELETED") return "attachment gone";
  const lists = Object.values(servedBy(object)).map((served) => served.length);
  return `attachment lists ${lists.join(" and ") || "nothing"}`;
}
