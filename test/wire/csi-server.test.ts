import { existsSync } from "node:fs";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { status } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, it } from "vitest";
import { DriverError } from "../../src/core/errors.ts";
import { NodeService, type NodeUnpublishVolumeRequest } from "../../src/csi/gen/csi.ts";
import { type StopLimits, serve } from "../../src/csi/server.ts";
import { service } from "../../src/csi/service.ts";
import { type Call, deadline } from "../../src/runtime/call.ts";
import { jsonLogger } from "../../src/runtime/log.ts";
import { csiClient } from "../support/csi-client.ts";

type Unpublish = (call: Call, request: NodeUnpublishVolumeRequest) => Promise<object>;

let dir: string;
let socket: string;
let lines: Record<string, unknown>[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "csi-"));
  socket = join(dir, "csi.sock");
  lines = [];
});

afterEach(() => rm(dir, { recursive: true }));

const request = { volumeId: "v", targetPath: "/t" };
const node = () => csiClient(NodeService, `unix:${socket}`);
const logged = (message: string) => lines.filter((line) => line["message"] === message);

function serving(nodeUnpublishVolume: Unpublish, limits?: StopLimits) {
  const log = jsonLogger((line) => lines.push(JSON.parse(line)), 4);
  const call = { signal: new AbortController().signal, log };
  return serve(call, `unix:${socket}`, [service(NodeService, { nodeUnpublishVolume })], { ...(limits && { limits }) });
}

/** A method that runs until its call is aborted, and says when it started and why it ended. */
function untilAborted() {
  const started = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<unknown>();
  const method: Unpublish = ({ signal }) => {
    const { promise, reject } = Promise.withResolvers<object>();
    signal.addEventListener("abort", () => {
      ended.resolve(signal.reason);
      reject(signal.reason);
    });
    started.resolve();
    return promise;
  };
  return { method, started: started.promise, ended: ended.promise };
}

it("replaces the socket of a killed process, restricts its access rights, and removes it at the end", async () => {
  await writeFile(socket, "");
  {
    await using _server = await serving(async () => ({}));
    expect((await stat(socket)).mode & 0o777).toBe(0o700);
    using client = node();
    await expect(client.nodeUnpublishVolume(request)).resolves.toEqual({});
  }
  expect(existsSync(socket)).toBe(false);
});

it("reports why it cannot listen", async () => {
  socket = join(dir, "missing", "csi.sock");
  await expect(serving(async () => ({}))).rejects.toThrow(/EACCES/);
});

it("serves TCP, too", async () => {
  const log = jsonLogger((line) => lines.push(JSON.parse(line)), 1);
  const call = { signal: new AbortController().signal, log };
  const methods = service(NodeService, { nodeUnpublishVolume: async () => ({}) });
  await using _server = await serve(call, "tcp://127.0.0.1:0", [methods]);
  using client = csiClient(NodeService, `127.0.0.1:${Number(logged("serving")[0]?.["port"])}`);
  await expect(client.nodeUnpublishVolume(request)).resolves.toEqual({});
});

it("answers Unimplemented for methods that are left out", async () => {
  await using _server = await serving(async () => ({}));
  using client = node();
  await expect(client.nodeGetInfo({})).rejects.toMatchObject({ code: status.UNIMPLEMENTED });
});

it("returns code, text and hint of a failure to the caller, and logs the failure once", async () => {
  await using _server = await serving(async () => {
    const cause = new Error("errno 111");
    throw new DriverError("notReady", "no Mountpoint Pod yet — “ü”", { cause, hint: "kubectl get pods" });
  });
  using client = node();
  await expect(client.nodeUnpublishVolume(request)).rejects.toMatchObject({
    code: status.UNAVAILABLE,
    details: "no Mountpoint Pod yet — “ü”. kubectl get pods",
  });
  expect(logged("call failed")).toMatchObject([
    {
      level: "error",
      method: "csi.v1.Node/NodeUnpublishVolume",
      code: "UNAVAILABLE",
      request,
      error: "no Mountpoint Pod yet — “ü”: errno 111",
    },
  ]);
});

it("returns an error whose text is not valid in a gRPC header", async () => {
  await using _server = await serving(() => Promise.reject(new Error(`\ud800\n\0${"ü".repeat(100_000)}`)));
  using client = node();
  await expect(client.nodeUnpublishVolume(request)).rejects.toMatchObject({ code: status.INTERNAL });
  await expect(client.nodeUnpublishVolume(request)).rejects.toMatchObject({ code: status.INTERNAL });
});

it("logs a call without its secrets", async () => {
  const log = jsonLogger((line) => lines.push(JSON.parse(line)), 4);
  const call = { signal: new AbortController().signal, log };
  const received: unknown[] = [];
  const methods = service(NodeService, {
    nodePublishVolume: async (_call, { secrets }) => {
      received.push(secrets);
      return {};
    },
  });
  await using _server = await serve(call, `unix:${socket}`, [methods]);
  using client = node();
  const secrets = { access_key_id: "AKIA-1", secret_access_key: "hunter2" };
  await client.nodePublishVolume({
    volumeId: "v",
    publishContext: {},
    stagingTargetPath: "",
    targetPath: "/t",
    readonly: true,
    secrets,
    volumeContext: { bucketName: "b" },
  });
  expect(received).toEqual([secrets]);
  expect(logged("call answered")).toMatchObject([
    { level: "debug", code: "OK", request: { volumeId: "v", volumeContext: { bucketName: "b" } } },
  ]);
  expect(JSON.stringify(lines)).not.toMatch(/AKIA-1|hunter2/);
});

it("aborts the call when its caller cancels", async () => {
  const { method, started, ended } = untilAborted();
  await using _server = await serving(method);
  using client = node();
  const cancel = new AbortController();
  const answer = client.nodeUnpublishVolume(request, { signal: cancel.signal, deadlineMs: 60_000 });
  await Promise.all([started.then(() => cancel.abort()), expect(answer).rejects.toThrow(/CANCELLED/)]);
  await expect(ended).resolves.toMatchObject({ code: status.CANCELLED });
  await expect.poll(() => logged("call failed")).toMatchObject([{ code: "CANCELLED" }]);
});

it("aborts the call when its caller's deadline passes", async () => {
  const { method, ended } = untilAborted();
  await using _server = await serving(method);
  using client = node();
  await expect(client.nodeUnpublishVolume(request, { deadlineMs: 3000 })).rejects.toThrow(/DEADLINE_EXCEEDED/);
  await expect(ended).resolves.toMatchObject({ code: status.DEADLINE_EXCEEDED });
  await expect.poll(() => logged("call failed")).toMatchObject([{ code: "DEADLINE_EXCEEDED" }]);
});

it("answers before the caller's deadline when a limit of the driver passes", async () => {
  const { method } = untilAborted();
  await using _server = await serving(async (call, message) => {
    using limited = deadline(call, 1, "mount-s3 to serve");
    return await method(limited, message);
  });
  using client = node();
  const answer = client.nodeUnpublishVolume(request, { deadlineMs: 60_000 });
  await expect(answer).rejects.toMatchObject({
    code: status.UNAVAILABLE,
    details: "gave up after 1 ms waiting for mount-s3 to serve",
  });
});

it("lets running calls finish at the end and accepts no new ones", async () => {
  const gate = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const server = await serving(async ({ signal }) => {
    started.resolve();
    await gate.promise;
    signal.throwIfAborted();
    return {};
  });
  using client = node();
  const answer = client.nodeUnpublishVolume(request);
  await started.promise;
  const stopped = server[Symbol.asyncDispose]();
  await expect.poll(() => existsSync(socket)).toBe(false);
  gate.resolve();
  await expect(answer).resolves.toEqual({});
  await stopped;
});

it("cancels calls that do not finish within the limit, with a code that makes kubelet repeat them", async () => {
  const { method, started } = untilAborted();
  const server = await serving(method, { finishMs: 1, cancelMs: 60_000 });
  using client = node();
  const answer = client.nodeUnpublishVolume(request);
  await started;
  const stopped = server[Symbol.asyncDispose]();
  await expect(answer).rejects.toMatchObject({ code: status.UNAVAILABLE, details: /the driver is stopping/ });
  await stopped;
});

it("ends even if a call ignores its cancellation", async () => {
  const started = Promise.withResolvers<void>();
  const server = await serving(
    () => {
      started.resolve();
      return new Promise<object>(() => undefined);
    },
    { finishMs: 1, cancelMs: 1 },
  );
  using client = node();
  const answer = client.nodeUnpublishVolume(request);
  await started.promise;
  await Promise.all([server[Symbol.asyncDispose](), expect(answer).rejects.toThrow(/UNAVAILABLE|CANCELLED/)]);
});
