import { getEventListeners, once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, it } from "vitest";
import { DriverError } from "../../core/errors.ts";
import { silentLogger } from "../../runtime/log.ts";
import { Secret } from "../../runtime/secret.ts";
import { kinds } from "../kinds.ts";
import { ApiError } from "./api-error.ts";
import { KubeClient } from "./client.ts";
import type { Credentials } from "./credentials.ts";
import { type AnsweredRequest, SilenceError, type TransportOptions } from "./transport.ts";

let server: Server;
let stop: AbortController;
let call: { signal: AbortSignal; log: typeof silentLogger };
const clients: KubeClient[] = [];
beforeEach(() => {
  stop = new AbortController();
  call = { signal: stop.signal, log: silentLogger };
});
afterEach(async () => {
  for (const client of clients.splice(0)) client[Symbol.dispose]();
  server.closeAllConnections();
  if (server.listening) await new Promise((resolve) => server.close(resolve));
});

/** A client of a server with these answers. */
async function against(answer: RequestListener, options: Partial<TransportOptions & Credentials> = {}) {
  server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/base/`);
  const credentials = { server: url, tls: () => ({}), token: () => undefined, ...options };
  const client = new KubeClient(credentials, { userAgent: "test", ...options });
  clients.push(client);
  return client;
}

/** Answers every request with these, the last one for ever, and notes what was asked. */
function answering(...answers: readonly (readonly [code: number, body: unknown])[]) {
  const asked: { method: string; url: string; headers: IncomingMessage["headers"]; body: unknown }[] = [];
  const answer: RequestListener = (request, response) => {
    const answered = text(request).then((body) => {
      const { method = "", url = "", headers } = request;
      asked.push({ method, url, headers, body: body === "" ? undefined : JSON.parse(body) });
      const [code, content] = answers[Math.min(asked.length, answers.length) - 1] ?? [500, ""];
      return response.writeHead(code).end(typeof content === "string" ? content : JSON.stringify(content));
    });
    answered.catch(() => response.destroy());
  };
  return { asked, answer };
}

const status = (code: number, reason: string) => [code, { kind: "Status", code, reason, message: reason }] as const;
const pod = { metadata: { name: "a", namespace: "ns", uid: "u1", resourceVersion: "7" } };
const ref = { namespace: "ns", name: "a" };

it("gets an object", async () => {
  const { asked, answer } = answering([200, pod]);
  const client = await against(answer);
  expect(await client.get(call, kinds.pods, ref)).toEqual(pod);
  expect(asked[0]).toMatchObject({ method: "GET", url: "/base/api/v1/namespaces/ns/pods/a" });
  expect(asked[0]?.headers).toMatchObject({ accept: "application/json", "user-agent": "test" });
});

it("distinguishes a missing object from a kind that is not served", async () => {
  const client = await against(answering(status(404, "NotFound"), [404, "404 page not found"]).answer);
  expect(await client.get(call, kinds.attachments, { name: "x" })).toBeUndefined();
  await expect(client.get(call, kinds.attachments, { name: "x" })).rejects.toThrow(ApiError);
});

it("gets the end of a log, as it is", async () => {
  const { asked, answer } = answering([200, "one\ntwo\n"], status(403, "Forbidden"));
  const client = await against(answer);
  expect(await client.logTail(call, ref, { container: "main", lines: 2 })).toBe("one\ntwo\n");
  expect(asked[0]?.url).toBe("/base/api/v1/namespaces/ns/pods/a/log?container=main&tailLines=2&limitBytes=65536");
  await expect(client.logTail(call, ref, { container: "main", lines: 2 })).rejects.toThrow(ApiError);
});

it("lists page by page, with its selectors", async () => {
  const first = { metadata: { resourceVersion: "9", continue: "more==" }, items: [pod] };
  const second = { metadata: { resourceVersion: "9", continue: "" }, items: [pod, pod] };
  const { asked, answer } = answering([200, first], [200, second]);
  const client = await against(answer);
  const selection = { labelSelector: "a=b,c", fieldSelector: "spec.nodeName=worker-1" };
  expect(await client.list(call, kinds.pods, selection)).toHaveLength(3);
  const queries = asked.map(({ url }) => Object.fromEntries(new URL(url, "http://x").searchParams));
  expect(queries).toEqual([
    { limit: "500", ...selection },
    { limit: "500", ...selection, continue: "more==" },
  ]);
  expect(asked[0]?.url).toMatch(/^\/base\/api\/v1\/pods\?/);
});

it("creates an object with its kind", async () => {
  const { asked, answer } = answering([201, pod]);
  const client = await against(answer);
  await client.create(call, kinds.attachments, { metadata: { name: "s3pa-1" } });
  expect(asked[0]).toMatchObject({
    method: "POST",
    url: "/base/apis/s3.csi.scality.com/v2/mountpoints3podattachments",
    body: { apiVersion: "s3.csi.scality.com/v2", kind: "MountpointS3PodAttachment", metadata: { name: "s3pa-1" } },
  });
});

it("patches by merging", async () => {
  const { asked, answer } = answering([200, pod]);
  const client = await against(answer);
  await client.patch(call, kinds.pods, ref, { metadata: { annotations: { gone: null } } });
  expect(asked[0]?.headers["content-type"]).toBe("application/merge-patch+json");
  expect(asked[0]?.body).toEqual({ metadata: { annotations: { gone: null } } });
});

it("sends the preconditions of a delete within the request, not behind it", async () => {
  const { asked, answer } = answering([200, {}]);
  const client = await against(answer);
  await client.delete(call, kinds.pods, ref, pod.metadata);
  await client.delete(call, kinds.pods, ref, { uid: "u1" });
  expect(asked.map(({ method, body }) => [method, body])).toEqual([
    ["DELETE", expect.objectContaining({ preconditions: { uid: "u1", resourceVersion: "7" } })],
    ["DELETE", expect.objectContaining({ preconditions: { uid: "u1" } })],
  ]);
});

it("is content when what it deletes is gone, but not when it has changed", async () => {
  const client = await against(answering(status(404, "NotFound"), status(409, "Conflict")).answer);
  await client.delete(call, kinds.pods, ref, pod.metadata);
  await expect(client.delete(call, kinds.pods, ref, pod.metadata)).rejects.toMatchObject({ isConflict: true });
});

it("shows its token as it is at the moment", async () => {
  const { asked, answer } = answering([200, pod]);
  const tokens = ["first", "second"];
  const client = await against(answer, { token: () => new Secret(tokens.shift() ?? "") });
  await client.get(call, kinds.pods, ref);
  await client.get(call, kinds.pods, ref);
  expect(asked.map(({ headers }) => headers.authorization)).toEqual(["Bearer first", "Bearer second"]);
});

it("uses one connection for requests in a row, and leaves no listener on the call", async () => {
  const client = await against(answering([200, pod]).answer);
  let connections = 0;
  server.on("connection", () => {
    connections += 1;
  });
  for (let i = 0; i < 20; i += 1) await client.get(call, kinds.pods, ref);
  expect(connections).toBe(1);
  expect(getEventListeners(stop.signal, "abort")).toHaveLength(0);
});

/** Answers the first request, and then cuts `cuts` connections in the moment a request arrives on them. */
async function againstCuts(cuts: number) {
  const { asked, answer } = answering([200, pod]);
  let requests = 0;
  const client = await against((request, response) => {
    requests += 1;
    if (requests > 1 && requests <= 1 + cuts) request.socket.resetAndDestroy();
    else answer(request, response);
  });
  await client.get(call, kinds.pods, ref);
  return { client, asked, requests: () => requests };
}

it.for([
  { verb: "get", send: (client: KubeClient) => client.get(call, kinds.pods, ref) },
  { verb: "patch", send: (client: KubeClient) => client.patch(call, kinds.pods, ref, {}) },
  { verb: "delete", send: (client: KubeClient) => client.delete(call, kinds.pods, ref, pod.metadata) },
])("repeats a $verb once when a kept connection was cut", async ({ send }) => {
  const { client, asked } = await againstCuts(1);
  await send(client);
  expect(asked).toHaveLength(2);
});

it("does not repeat a create: it may have succeeded", async () => {
  const { client, requests } = await againstCuts(1);
  await expect(client.create(call, kinds.pods, pod)).rejects.toMatchObject({ kind: "notReady" });
  expect(requests()).toBe(2);
});

it("gives up after the repetition, with the cause", async () => {
  const { client, requests } = await againstCuts(9);
  const error = await client.get(call, kinds.pods, ref).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(DriverError);
  expect(error).toMatchObject({ kind: "notReady", cause: { code: "ECONNRESET" } });
  expect(requests()).toBe(3);
});

it("says that a server cannot be reached", async () => {
  const client = await against(() => undefined);
  await new Promise((resolve) => server.close(resolve));
  await expect(client.get(call, kinds.pods, ref)).rejects.toMatchObject({
    kind: "notReady",
    cause: { code: "ECONNREFUSED" },
  });
});

it("does not wait for ever: no answer", async () => {
  const client = await against(() => undefined, { answerLimitMs: 20 });
  await expect(client.get(call, kinds.pods, ref)).rejects.toMatchObject({ cause: expect.any(SilenceError) });
});

it("does not wait for ever: half an answer", async () => {
  const client = await against((_request, response) => void response.write('{"metadata"'), { answerLimitMs: 20 });
  await expect(client.get(call, kinds.pods, ref)).rejects.toMatchObject({ cause: expect.any(SilenceError) });
});

it("applies one manager's part of a status, to the object that was meant", async () => {
  const { asked, answer } = answering([200, pod]);
  const client = await against(answer);
  const said = { manager: "me", status: { mountpointPods: {} } };
  await client.applyStatus(call, kinds.attachments, { name: "s3pa-1", uid: "u1" }, said);
  const path = "/base/apis/s3.csi.scality.com/v2/mountpoints3podattachments/s3pa-1/status";
  expect(asked).toMatchObject([
    {
      method: "PATCH",
      url: `${path}?fieldManager=me&force=true`,
      headers: { "content-type": "application/apply-patch+yaml" },
      body: {
        apiVersion: "s3.csi.scality.com/v2",
        kind: "MountpointS3PodAttachment",
        metadata: { name: "s3pa-1", uid: "u1" },
        status: said.status,
      },
    },
  ]);
});

it("does not read an answer without end", async () => {
  const client = await against((_request, response) => {
    const chunk = Buffer.alloc(1024 * 1024, " ");
    const pour = () => void response.write(chunk, (error) => error ?? pour());
    pour();
  });
  await expect(client.get(call, kinds.pods, ref)).rejects.toThrow("an answer is longer than");
});

it.for([
  { when: "before an answer", answer: (() => undefined) as RequestListener },
  { when: "within an answer", answer: ((_, response) => void response.write("{")) as RequestListener },
])("ends with the call's reason, $when, and lets go of the connection", async ({ answer }) => {
  const client = await against((request, response) => {
    answer(request, response);
    stop.abort(new Error("not needed any more"));
  });
  const closed = once(server, "connection").then(([socket]) => once(socket as Socket, "close"));
  await expect(client.get(call, kinds.pods, ref)).rejects.toThrow("not needed any more");
  await closed;
});

it("reports every request, with its verb and resource, and the status of the answer", async () => {
  const seen: unknown[] = [];
  const { answer } = answering([200, pod], status(404, "NotFound"), [200, { items: [], metadata: {} }]);
  const onAnswered = ({ seconds, ...what }: AnsweredRequest) => seen.push([what, seconds >= 0]);
  const client = await against(answer, { onAnswered });
  await client.get(call, kinds.pods, ref);
  await client.get(call, kinds.pods, ref);
  await client.list(call, kinds.pods);
  expect(seen).toEqual([
    [{ verb: "get", resource: "pods", code: 200 }, true],
    [{ verb: "get", resource: "pods", code: 404 }, true],
    [{ verb: "list", resource: "pods", code: 200 }, true],
  ]);
});

it("reports a request without an answer, and not one that the caller gave up", async () => {
  const seen: (number | undefined)[] = [];
  const arrived = Promise.withResolvers<void>();
  let isSilent = false;
  const client = await against(
    (request) => {
      if (isSilent) arrived.resolve();
      else request.socket.destroy();
    },
    { onAnswered: ({ code }) => seen.push(code) },
  );
  await expect(client.create(call, kinds.pods, pod)).rejects.toThrow("failed");
  expect(seen).toEqual([undefined]);
  isSilent = true;
  const given = client.create(call, kinds.pods, pod);
  await arrived.promise;
  stop.abort(new Error("enough"));
  await expect(given).rejects.toThrow("enough");
  expect(seen).toEqual([undefined]);
});
