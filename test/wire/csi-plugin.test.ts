import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { get } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, it } from "vitest";
import { IdentityService } from "../../src/csi/gen/csi.ts";
import { RegistrationService } from "../../src/csi/gen/pluginregistration.ts";
import { serveHealth } from "../../src/csi/health.ts";
import { identityService, type Readiness } from "../../src/csi/identity.ts";
import { serveRegistration } from "../../src/csi/registration.ts";
import { serve } from "../../src/csi/server.ts";
import { runController } from "../../src/kube/controller/run-controller.ts";
import { WorkQueue } from "../../src/kube/controller/work-queue.ts";
import { ProgramMetrics } from "../../src/metrics/program-metrics.ts";
import { NodeMetrics } from "../../src/node/metrics.ts";
import type { Call } from "../../src/runtime/call.ts";
import { jsonLogger } from "../../src/runtime/log.ts";
import { Progress } from "../../src/runtime/progress.ts";
import { csiClient } from "../support/csi-client.ts";

const csiSocket = "/var/lib/kubelet/plugins/s3.csi.scality.com/csi.sock";
const onRegistered = () => undefined;

let dir: string;
let lines: Record<string, unknown>[];
let call: Call;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "csi-"));
  lines = [];
  call = { signal: new AbortController().signal, log: jsonLogger((line) => lines.push(JSON.parse(line)), 1) };
});

afterEach(() => rm(dir, { recursive: true }));

it("returns the path of the CSI socket on the host to kubelet", async () => {
  await using _registration = await serveRegistration(call, { registryDir: dir, csiSocket, onRegistered });
  // kubelet's dial sends the percent-encoded path of the socket as authority.
  const socket = join(dir, "s3.csi.scality.com-reg.sock");
  using kubelet = csiClient(RegistrationService, `unix:${socket}`, {
    "grpc.default_authority": encodeURIComponent(socket),
  });
  await expect(kubelet.getInfo({})).resolves.toEqual({
    type: "CSIPlugin",
    name: "s3.csi.scality.com",
    endpoint: csiSocket,
    supportedVersions: ["1.0.0"],
  });
});

it.for([
  { answer: { pluginRegistered: true, error: "" }, message: "registered with kubelet" },
  {
    answer: { pluginRegistered: false, error: "no such node" },
    message: "kubelet refused the registration and will ask again",
  },
])("logs kubelet's answer and passes on a good one: $message", async ({ answer, message }) => {
  let registered = false;
  const registration = { registryDir: dir, csiSocket, onRegistered: () => void (registered = true) };
  await using _registration = await serveRegistration(call, registration);
  using kubelet = csiClient(RegistrationService, `unix:${join(dir, "s3.csi.scality.com-reg.sock")}`);
  await kubelet.notifyRegistrationStatus(answer);
  expect(registered).toBe(answer.pluginRegistered);
  const logged = lines.filter((line) => line["message"] === message);
  expect(logged).toHaveLength(1);
  expect(logged[0]?.["error"] ?? "").toBe(answer.error);
});

it("removes its socket at the end, so that kubelet unregisters the driver at once", async () => {
  const registration = await serveRegistration(call, { registryDir: dir, csiSocket, onRegistered });
  await registration[Symbol.asyncDispose]();
  expect(existsSync(join(dir, "s3.csi.scality.com-reg.sock"))).toBe(false);
});

it.for([
  { servesController: true, capabilities: [{ type: { $case: "service", value: { type: 1 } } }] },
  { servesController: false, capabilities: [] },
])("says who it is and what it serves, with controller service: $servesController", async (row) => {
  const identity = identityService({ version: "3.1.4", readiness: () => ({ ready: true }), ...row });
  await using _server = await serve(call, `unix:${dir}/csi.sock`, [identity]);
  using kubelet = csiClient(IdentityService, `unix:${dir}/csi.sock`);
  await expect(kubelet.getPluginInfo({})).resolves.toEqual({
    name: "s3.csi.scality.com",
    vendorVersion: "3.1.4",
    manifest: {},
  });
  await expect(kubelet.getPluginCapabilities({})).resolves.toEqual({ capabilities: row.capabilities });
});

it("answers both kinds of probe from the same readiness", async () => {
  let state: ReturnType<Readiness> = { ready: true };
  const readiness = () => state;
  const identity = identityService({ version: "1", readiness, servesController: false });
  await using _server = await serve(call, `unix:${dir}/csi.sock`, [identity]);
  await using _health = await serveHealth(call, 0, { readiness, liveness: ready });
  using kubelet = csiClient(IdentityService, `unix:${dir}/csi.sock`);

  await expect(kubelet.probe({})).resolves.toEqual({ ready: true });
  await expect(fetched("/healthz")).resolves.toEqual({ code: 200, body: "ok" });

  state = { ready: false, because: "the API server has not answered for 60 s" };
  await expect(kubelet.probe({})).resolves.toEqual({ ready: false });
  await expect(fetched("/healthz")).resolves.toEqual({ code: 503, body: "the API server has not answered for 60 s" });
  await expect(fetched("/livez")).resolves.toEqual({ code: 200, body: "ok" });
  await expect(fetched("/metrics")).resolves.toEqual({ code: 404, body: "" });
});

it("serves metrics on the health port", async () => {
  const program = { component: "s3-plugin", version: "3.0.0", progress: new Progress(), served: true } as const;
  using metrics = new ProgramMetrics(program);
  new NodeMetrics(metrics.registry).deaths.inc();
  if (metrics.text === undefined) throw new Error("metrics are not served");
  const served = { text: metrics.text };
  await using _health = await serveHealth(call, 0, { readiness: ready, liveness: ready, metrics: served });
  const { code, body } = await fetched("/metrics");
  expect(code).toBe(200);
  expect(body).toContain("\ns3_csi_mount_deaths_total 1\n");
});

it("fails the liveness probe while a reconcile loop is frozen, and names the loop", async () => {
  using queue = new WorkQueue<string>();
  const progress = new Progress(200);
  using _progress = progress.follow("reconciling", () => queue.stalledMs);
  await using _health = await serveHealth(call, 0, { readiness: ready, liveness: progress.liveness });
  const thaw = Promise.withResolvers<void>();
  const stop = new AbortController();
  const reconcile = () => thaw.promise.then(() => ({ kind: "done" }) as const);
  const running = runController({ ...call, signal: stop.signal }, { queue, workers: 1, reconcile });
  await expect(fetched("/livez")).resolves.toEqual({ code: 200, body: "ok" });

  queue.add("frozen");

  await expect
    .poll(() => fetched("/livez"), { timeout: 30_000 })
    .toEqual({ code: 503, body: expect.stringMatching(/^reconciling: nothing has moved for [0-9]+ s$/) });
  await expect(fetched("/healthz")).resolves.toEqual({ code: 200, body: "ok" });
  thaw.resolve();
  await expect.poll(() => fetched("/livez"), { timeout: 30_000 }).toEqual({ code: 200, body: "ok" });
  stop.abort();
  await running;
});

it("ends although a client has sent half a request", async () => {
  const health = await serveHealth(call, 0, { readiness: ready, liveness: ready });
  const peer = connect(healthPort());
  await once(peer, "connect");
  peer.write("GET /healthz HTTP/1.1\r\n");
  await expect(fetched("/healthz")).resolves.toMatchObject({ code: 200 }); // so the half has arrived, too
  const cut = once(peer, "close");
  peer.on("error", () => undefined).resume();
  await Promise.all([health[Symbol.asyncDispose](), cut]);
});

it("reports why it cannot listen on the health port", async () => {
  await using _health = await serveHealth(call, 0, { readiness: ready, liveness: ready });
  await expect(serveHealth(call, healthPort(), { readiness: ready, liveness: ready })).rejects.toThrow(/EADDRINUSE/);
});

function ready() {
  return { ready: true } as const;
}

function healthPort(): number {
  return Number(lines.find((line) => line["message"] === "serving health")?.["port"]);
}

async function fetched(path: string): Promise<{ code: number | undefined; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ code: number | undefined; body: string }>();
  const request = get({ port: healthPort(), path }, (response) => {
    text(response).then((body) => resolve({ code: response.statusCode, body }), reject);
  });
  request.on("error", reject);
  return promise;
}
