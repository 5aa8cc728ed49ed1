/** Queues a volume on every node with a workload or an attachment of it. */
import type { PvName } from "../../core/names.ts";
import { KeyFifo } from "../../kube/controller/key-fifo.ts";
import { type VolumeOnNodeKey, volumeOnNodeKey } from "../domain/volume-on-node.ts";
import { type View, volumeOnNodeOf, workloadsWith } from "./view.ts";

/** SC-5. So many are queued in one turn of the event loop: a volume may be used on every node. */
const atOnce = 500;

/** The nodes of a volume are looked up when its turn comes. Objects that arrive or leave until then queue their volumes themselves. */
export class WhereUsed implements Disposable {
  readonly #view: View;
  readonly #queue: { add(key: VolumeOnNodeKey): void };
  readonly #volumes = new KeyFifo<PvName>();
  #keys: Iterator<VolumeOnNodeKey> | undefined;
  #nextTurn: NodeJS.Immediate | undefined;

  constructor(view: View, queue: { add(key: VolumeOnNodeKey): void }) {
    this.#view = view;
    this.#queue = queue;
  }

  add(volume: PvName): void {
    this.#volumes.push(volume);
    if (this.#nextTurn === undefined) this.#work();
  }

  [Symbol.dispose](): void {
    clearImmediate(this.#nextTurn);
  }

  #work(): void {
    this.#nextTurn = undefined;
    for (let queued = 0; queued < atOnce; queued += 1) {
      const key = this.#next();
      if (key === undefined) return;
      this.#queue.add(key);
    }
    this.#nextTurn = setImmediate(() => this.#work());
  }

  #next(): VolumeOnNodeKey | undefined {
    while (true) {
      const key = this.#keys?.next();
      if (key?.done === false) return key.value;
      const volume = this.#volumes.shift();
      this.#keys = volume === undefined ? undefined : keysOf(this.#view, volume);
      if (volume === undefined) return undefined;
    }
  }
}

/** Each once: a workload has an attachment, or is about to get one. */
function* keysOf(view: View, persistentVolume: PvName): Generator<VolumeOnNodeKey> {
  for (const attachment of view.attachments.by("volume", persistentVolume)) yield volumeOnNodeOf(attachment);
  if (view.volumes.get(persistentVolume) === undefined) return;
  for (const { node } of workloadsWith(view, persistentVolume)) {
    if (node === undefined) continue;
    const key = volumeOnNodeKey({ node, persistentVolume });
    if (view.attachments.count("volumeOnNode", key) === 0) yield key;
  }
}
