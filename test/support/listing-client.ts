import type { WatchEvent } from "../../src/kube/client/client.ts";
import type { Kind } from "../../src/kube/kinds.ts";
import type { Watcher } from "../../src/kube/watch/watch.ts";

/** Streams the given objects, by kind, as the initial list, and sends nothing after that. */
export function listingClient(objects: Readonly<Record<string, readonly object[]>>): Watcher {
  async function* stream(signal: AbortSignal, kind: string) {
    for (const object of objects[kind] ?? []) yield { type: "ADDED", object };
    const annotations = { "k8s.io/initial-events-end": "true" };
    yield { type: "BOOKMARK", object: { metadata: { resourceVersion: "9", annotations } } };
    const { promise, reject } = Promise.withResolvers<never>();
    signal.addEventListener("abort", () => reject(new Error("ended")));
    yield await promise;
  }
  return {
    pages: () => {
      throw new Error("streams are served");
    },
    watch: async <Shape>(call: { signal: AbortSignal }, { kind }: Kind<Shape>) =>
      stream(call.signal, kind) as AsyncGenerator<WatchEvent<Shape>>,
  };
}
