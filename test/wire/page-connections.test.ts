/** What the page in the cluster does with connections that it should not keep or trust. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { connect, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { expect, it } from "vitest";
import { Feed } from "../../src/page/feed.ts";
import { jsonLogger } from "../../src/runtime/log.ts";
import { type PageParts, servePage } from "../../src/ui-server/page-server.ts";

const call = { signal: new AbortController().signal, log: jsonLogger(() => undefined, 9) };

async function served(but: Partial<PageParts> = {}) {
  const parts: PageParts = {
    files: { "/": { type: "text/plain", text: "x".repeat(2 ** 26) } },
    feed: new Feed(),
    access: () => Promise.resolve({ is: "allowed" }),
    recheckMs: 1000,
    ...but,
  };
  return await servePage(call, parts, { port: 0, hosts: [], tls: undefined, mostViewers: 2 });
}

/** Resolves when the server has closed its end of the next connection. */
async function nextClosed(): Promise<void> {
  const closed = Promise.withResolvers<void>();
  const accepted = (message: unknown) => {
    unsubscribe("net.server.socket", accepted);
    (message as { readonly socket: Socket }).socket.on("close", () => closed.resolve());
  };
  subscribe("net.server.socket", accepted);
  await closed.promise;
}

it("a connection that takes nothing of what it asked for is closed", async () => {
  await using server = await served({ silenceMs: 1000 });
  const closed = nextClosed();
  const connection = connect(server.port, "127.0.0.1");
  connection.on("error", () => undefined);
  // The answer is larger than all buffers, and nobody reads it.
  connection.pause().write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
  await closed;
  connection.destroy();
});

const [outside] = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .filter(({ family, internal }) => family === "IPv4" && !internal);

it.runIf(outside)("without TLS the feed is for loopback only, and the files are open", async () => {
  await using server = await served({ files: { "/": { type: "text/plain", text: "page" } } });
  const ask = async (host = "", path = "") =>
    await fetch(`http://${host}:${server.port}${path}`, { headers: { authorization: "Bearer token" } });
  const refused = await ask(outside?.address, "/feed");
  expect(refused.status).toBe(403);
  expect(await refused.text()).toContain("ui.tls.secretName");
  expect((await ask(outside?.address, "/")).status).toBe(200);
  const feed = await ask("127.0.0.1", "/feed");
  expect(feed.status).toBe(200);
  await feed.body?.cancel();
});
