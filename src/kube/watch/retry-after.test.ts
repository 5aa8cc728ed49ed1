import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { silentLogger } from "../../runtime/log.ts";
import { KubeClient } from "../client/client.ts";
import { kinds } from "../kinds.ts";
import { Store } from "./store.ts";
import { watch } from "./watch.ts";

const endOfList = {
  type: "BOOKMARK",
  object: { metadata: { resourceVersion: "5", annotations: { "k8s.io/initial-events-end": "true" } } },
};

it("SC-6 a watch that is refused comes back after the time that the server asks for, not after its own first pause", async () => {
  const askedAtMs: number[] = [];
  const server = createServer((_, response) => {
    askedAtMs.push(performance.now());
    if (askedAtMs.length === 1) response.writeHead(429, { "retry-after": "1" }).end();
    else response.write(`${JSON.stringify(endOfList)}\n`);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = new AbortController();
  const call = { signal: stop.signal, log: silentLogger };
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  using client = new KubeClient({ server: url, tls: () => ({}), token: () => undefined }, { userAgent: "test" });
  const store = new Store<string>({});
  const ended = watch(call, client, { kind: kinds.pods, trim: ({ metadata }) => metadata.name }, store);
  await store.synced(call);
  stop.abort();
  await ended;
  server.closeAllConnections();
  server.close();
  // A timer may be early by less than a millisecond.
  const [first = 0, second = 0] = askedAtMs;
  expect(second - first).toBeGreaterThan(990);
});
