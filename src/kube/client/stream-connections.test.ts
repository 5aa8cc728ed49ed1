import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { silentLogger } from "../../runtime/log.ts";
import { kinds } from "../kinds.ts";
import { KubeClient } from "./client.ts";

const call = { signal: new AbortController().signal, log: silentLogger };

let server: Server;
let client: KubeClient;
/** The connection of every request. */
let used: Socket[];
beforeEach(async () => {
  used = [];
  server = createServer((request, response) => {
    used.push(request.socket);
    response.end("{}\n");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  client = new KubeClient({ server: url, tls: () => ({}), token: () => undefined }, { userAgent: "test" });
});
afterEach(async () => {
  client[Symbol.dispose]();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function watchToItsEnd(): Promise<void> {
  for await (const _ of await client.watch(call, kinds.pods, {}, {}));
}

function get(): Promise<unknown> {
  return client.get(call, kinds.pods, { name: "a" });
}

it("SC-8 every watch has a new connection, so that a watch that was cut can reach another API server", async () => {
  await get();
  await watchToItsEnd();
  await watchToItsEnd();
  await get();
  const [first, watch, next, last] = used;
  expect(new Set([first, watch, next]).size).toBe(3);
  expect(last).toBe(first);
});

it("the connection of a watch is closed with it", async () => {
  await watchToItsEnd();
  const [socket] = used;
  if (socket !== undefined && !socket.destroyed) await once(socket, "close");
  expect(socket?.destroyed).toBe(true);
});
