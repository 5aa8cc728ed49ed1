import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as listener, type Socket } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { storesWith } from "../../../test/support/fake-credentials.ts";
import { call } from "../../../test/support/fake-node.ts";
import { tokenOf } from "../../../test/support/service-account-token.ts";
import { defaultStore, type Store } from "../../core/stores/store.ts";
import { Secret } from "../../runtime/secret.ts";
import { StsClient } from "./sts-client.ts";

let answer: (response: ServerResponse) => void;
const server = createServer((request, response) => {
  request.resume();
  answer(response);
});
const client = new StsClient({ proxy: {}, trusted: undefined, userAgent: "test" });
const token = new Secret(tokenOf("system:serviceaccount:a:b"));

beforeEach(() => new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve)));
afterEach(async () => {
  client[Symbol.dispose]();
  await new Promise((resolve) => server.close(resolve));
});

function session() {
  const { port } = server.address() as AddressInfo;
  const sts = { endpointUrl: `http://127.0.0.1:${port}`, durationSeconds: 900 };
  const store = storesWith({ default: { sts } }).get(defaultStore) as Store;
  return client.session(call, { store, token, role: undefined, sessionName: "a.b" });
}

const endsAt = new Date("2026-11-18T12:00:00Z");
const xml = `<Credentials><AccessKeyId>id</AccessKeyId><SecretAccessKey>key</SecretAccessKey><SessionToken>s</SessionToken>
<Expiration>${endsAt.toISOString()}</Expiration></Credentials>`;

it.for([
  ["says when it was sent", new Date(endsAt.getTime() - 600_000).toUTCString(), 600_000],
  ["has no date", undefined, 900_000],
  ["has a date that is none", "soon", 900_000],
  ["has a date after the end of the session", new Date(endsAt.getTime() + 60_000).toUTCString(), 900_000],
] as const)(
  "ID-2 an answer of STS that %s: the session is not counted by the clock of the node",
  async ([, date, lifeMs]) => {
    answer = (response) => {
      response.sendDate = false;
      if (date !== undefined) response.setHeader("date", date);
      response.end(xml);
    };
    expect(await session()).toMatchObject({ lifeMs });
  },
);

it("ID-2 a refusal that repeats the token does not show it", async () => {
  answer = (response) => {
    response.statusCode = 403;
    response.end(`<Error><Code>AccessDenied</Code><Message>no role for ${token.reveal()}</Message></Error>`);
  };
  const refusal = session();
  await expect(refusal).rejects.toMatchObject({
    kind: "denied",
    message: expect.stringContaining("no role for [masked]"),
  });
  await expect(refusal).rejects.not.toMatchObject({ message: expect.stringContaining(token.reveal()) });
});

it("ID-2 a proxy that does not answer its CONNECT is no STS for ever: the request ends, and the next one is made", async () => {
  const sockets: Socket[] = [];
  const proxy = listener((socket) => sockets.push(socket)).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const HTTPS_PROXY = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  using behind = new StsClient({ proxy: { HTTPS_PROXY }, trusted: undefined, userAgent: "test", answerMs: 200 });
  const store = storesWith({ default: { sts: { endpointUrl: "https://sts.example.com" } } }).get(defaultStore) as Store;
  for (const attempt of [1, 2]) {
    const request = behind.session(call, { store, token, role: undefined, sessionName: "a.b" });
    await expect(request).rejects.toMatchObject({
      kind: "notReady",
      message: expect.stringContaining("does not answer"),
    });
    expect(sockets.length).toBeGreaterThanOrEqual(attempt);
  }
  for (const socket of sockets) socket.destroy();
  proxy.close();
});
