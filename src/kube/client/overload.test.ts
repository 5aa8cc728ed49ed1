import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { silentLogger } from "../../runtime/log.ts";
import { kinds } from "../kinds.ts";
import { KubeClient } from "./client.ts";

const call = { signal: new AbortController().signal, log: silentLogger };
const ref = { namespace: "ns", name: "a" };

let asked: string[];
let server: Server;
let client: KubeClient;
let refusal: unknown;
/** The API server refuses requests for Pods, asks for two seconds, and answers all others. */
beforeEach(async () => {
  asked = [];
  server = createServer(({ method, url = "" }, response) => {
    asked.push(`${method} ${url}`);
    if (url.includes("/pods/")) response.writeHead(429, { "retry-after": "2" }).end();
    else response.writeHead(200).end(JSON.stringify({ metadata: { resourceVersion: "1" }, items: [] }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const credentials = { server: new URL(`http://127.0.0.1:${port}`), tls: () => ({}), token: () => undefined };
  client = new KubeClient(credentials, { userAgent: "test" });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  refusal = await client.get(call, kinds.pods, ref).catch((error: unknown) => error);
  asked = [];
});
afterEach(async () => {
  vi.useRealTimers();
  client[Symbol.dispose]();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** By then a request that does not wait would have arrived. */
async function rounds(): Promise<void> {
  for (let i = 0; i < 50; i += 1) await setImmediate();
}

it("SC-6 honours Retry-After for requests of every kind", async () => {
  expect(refusal).toMatchObject({ code: 429, retryAfterMs: 2000 });
  const created = client.create(call, kinds.attachments, { metadata: { name: "a" } });
  vi.advanceTimersByTime(1999);
  await rounds();
  expect(asked).toEqual([]);
  vi.advanceTimersByTime(401);
  await created;
  expect(asked).toHaveLength(1);
});

it.for([
  { what: "a look at the lease", send: () => client.get(call, kinds.leases, ref) },
  { what: "a renewal of the lease", send: () => client.patch(call, kinds.leases, ref, {}) },
  { what: "a new lease", send: () => client.create(call, kinds.leases, { metadata: ref }) },
  { what: "a list", send: () => client.list(call, kinds.pods) },
])("SC-6 $what does not wait for other requests", async ({ send }) => {
  await send();
  expect(asked).toHaveLength(1);
});

it("does not send a request that may not be sent any more when its turn comes", async () => {
  const guard = vi.fn<() => void>(() => {
    throw new Error("another may lead now");
  });
  const patched = client.patch({ ...call, guard }, kinds.attachments, ref, {}).catch((error: unknown) => error);
  await rounds();
  expect(guard).not.toHaveBeenCalled();
  vi.advanceTimersByTime(2400);
  expect(await patched).toEqual(new Error("another may lead now"));
  await rounds();
  expect(asked).toEqual([]);
});
