import { afterEach, beforeEach, expect, it } from "vitest";
import { type NodeName, startupTaintKey } from "../../core/names.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Taint } from "../../kube/kinds.ts";
import type { Call } from "../../runtime/call.ts";
import { jsonLogger } from "../../runtime/log.ts";
import { orAborted } from "../../runtime/or-aborted.ts";
import { removeStartupTaint } from "./startup-taint.ts";

const node = "worker-1" as NodeName;
const foreign: Taint = { key: "example.com/gpu", value: "yes", effect: "NoSchedule" };
const startupTaints: readonly Taint[] = ["NoSchedule", "NoExecute"].map((effect) => ({ key: startupTaintKey, effect }));

/** One Node object with the rule of an API server: a patch with another resourceVersion is a conflict. */
class OneNode {
  taints: readonly Taint[] = [foreign, ...startupTaints];
  /** Errors of the next patches, in order. */
  readonly refusals: Error[] = [];
  /** The watch has received the initial list. */
  readonly listed = Promise.withResolvers<void>();
  #version = 1;
  #changed = Promise.withResolvers<void>();

  taint(...taints: readonly Taint[]): void {
    this.taints = taints;
    this.#version += 1;
    this.#changed.resolve();
  }

  get api() {
    return {
      pages: () => {
        throw new Error("streamed");
      },
      watch: async (call: Call) => this.#events(call),
      patch: async (_call: unknown, _kind: unknown, _ref: unknown, patch: object) => this.#patch(patch as Patch),
    } as unknown as KubeClient;
  }

  #patch({ metadata, spec }: Patch): void {
    const refusal = this.refusals.shift();
    if (refusal !== undefined) throw refusal;
    if (metadata.resourceVersion !== String(this.#version)) throw new ApiError(409, "Conflict", "changed");
    this.taint(...spec.taints);
  }

  async *#events(call: Call) {
    const annotations = { "k8s.io/initial-events-end": "true" };
    yield { type: "ADDED", object: this.#object() };
    yield { type: "BOOKMARK", object: { metadata: { resourceVersion: String(this.#version), annotations } } };
    this.listed.resolve();
    for (;;) {
      await orAborted(call, this.#changed.promise);
      this.#changed = Promise.withResolvers<void>();
      yield { type: "MODIFIED", object: this.#object() };
    }
  }

  #object() {
    return { metadata: { name: node, resourceVersion: String(this.#version) }, spec: { taints: this.taints } };
  }
}

interface Patch {
  readonly metadata: { readonly resourceVersion: string };
  readonly spec: { readonly taints: readonly Taint[] };
}

let stop: AbortController;
let lines: string[];
let registered: PromiseWithResolvers<void>;
let worker: OneNode;
let running: Promise<void>;
beforeEach(() => {
  stop = new AbortController();
  lines = [];
  registered = Promise.withResolvers<void>();
  worker = new OneNode();
  const log = jsonLogger((line) => lines.push(line), 2);
  running = removeStartupTaint({ signal: stop.signal, log }, worker.api, node, registered.promise);
});
afterEach(async () => {
  stop.abort();
  await running;
});

/** Real time, because the back-off grows with each failure. */
const patience = { timeout: 20_000, interval: 10 };

it("removes every taint with the key, and no other, once kubelet has registered the driver", async () => {
  await worker.listed.promise;
  expect(worker.taints).toEqual([foreign, ...startupTaints]);
  registered.resolve();
  await expect.poll(() => worker.taints, patience).toEqual([foreign]);
});

it("removes the taint again whenever it is set again", async () => {
  registered.resolve();
  await expect.poll(() => worker.taints, patience).toEqual([foreign]);
  worker.taint(...startupTaints, foreign);
  await expect.poll(() => worker.taints, patience).toEqual([foreign]);
});

it("retries after every refusal, and logs the same refusal once", async () => {
  const refusal = new ApiError(403, "Forbidden", "nodes is forbidden");
  worker.refusals.push(...Array.from({ length: 8 }, () => refusal));
  registered.resolve();
  await expect.poll(() => worker.taints, patience).toEqual([foreign]);
  expect(lines.filter((line) => line.includes("Forbidden"))).toHaveLength(1);
});
