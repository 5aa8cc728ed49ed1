/** What the page in the cluster does with connections that it should not keep. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { connect, type Socket } from "node:net";
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
  await expect(closed).resolves.toBeUndefined();
  connection.destroy();
});
