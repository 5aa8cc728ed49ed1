/** Volumes of other drivers, by name alone, and the Pods that use nothing else (SC-2). */
import { type Feed, keyOf } from "../../kube/watch/store.ts";
import type { Call } from "../../runtime/call.ts";
import { TurnLimit } from "../../runtime/turn-limit.ts";
import type { Workload } from "../domain/workload.ts";
import type { View } from "./view.ts";

export class ForeignVolumes implements Feed<unknown> {
  /** Name → the list that confirmed the volume last. */
  readonly #names = new Map<string, number>();
  #list = 0;

  has(name: string): boolean {
    return this.#names.has(name);
  }

  begin(): void {
    this.#list += 1;
  }

  put(name: string): void {
    this.#names.set(name, this.#list);
  }

  remove(name: string): void {
    this.#names.delete(name);
  }

  complete(): void {
    for (const [name, list] of this.#names) if (list !== this.#list) this.#names.delete(name);
  }
}

/**
 * Whether a workload can never concern this driver: its volumes are mounted, all of them belong to other drivers, and no attachment lists
 * it. A running Pod gets no other volumes: its claims, their volumes and the drivers of those cannot be changed, and even a claim that
 * is replaced by force is not mounted in a running Pod. A claim or a volume that is not observed may be one of this driver.
 */
export function isForeign(view: View, { uid, phase, namespace, claims }: Workload): boolean {
  if (phase !== "running" || !view.attachments.isSynced || view.attachments.count("workload", uid) > 0) return false;
  return claims.every((name) => {
    const claim = view.claims.get(keyOf({ namespace, name }));
    return claim !== undefined && view.foreignVolumes.has(claim.volume);
  });
}

/** Pods were observed before the claims and volumes that tell what they are. Call it when the caches are synced. */
export async function forgetForeignWorkloads(call: Call, view: View): Promise<void> {
  const turn = new TurnLimit();
  for (const workload of view.workloads.values()) {
    if (call.signal.aborted) return;
    if (isForeign(view, workload)) view.workloads.remove(keyOf(workload));
    await turn.pause();
  }
}
