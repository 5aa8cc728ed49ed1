/** Exports that arrive on the loopback address of another network namespace, as that of a Mountpoint Pod. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { PodName, PodUid } from "../../src/core/names.ts";
import { loopbackSocket, networkOf } from "../../src/linux/socket/inside-network.ts";
import { FigureReceivers } from "../../src/node/figures/figure-receivers.ts";
import { silentLogger } from "../../src/runtime/log.ts";
import { otlpMessage } from "../support/otlp-message.ts";

const port = 4318;
const pod = { name: "mp-1" as PodName, uid: "uid-1" as PodUid };
const requests = (value: number) =>
  otlpMessage({ name: "s3.request_count", kind: "sum", points: [{ attributes: { s3_request: "GetObject" }, value }] });

let inPod: ChildProcess;
let receivers: FigureReceivers;

/** The process of a container: in a network of its own, whose loopback device is up. */
beforeEach(async () => {
  inPod = spawn("unshare", ["--net", "sh", "-c", "ip link set lo up && echo up && exec sleep 3600"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  await once(inPod.stdout as NodeJS.ReadableStream, "data");
  receivers = new FigureReceivers(0);
});

/** A socket in the network of that process. */
async function socket(): Promise<number> {
  using network = networkOf("/proc", inPod.pid ?? 0);
  return (await loopbackSocket(network, port)).release();
}

afterEach(async () => {
  receivers[Symbol.dispose]();
  const ended = once(inPod, "exit");
  inPod.kill("SIGKILL");
  await ended;
});

/** The status with which a POST from inside the network is answered. The body goes by standard input: it may be large. */
async function post(body: Uint8Array, path = "/v1/metrics"): Promise<number> {
  const script = `import { buffer } from "node:stream/consumers";
    const body = await buffer(process.stdin);
    const { status } = await fetch("http://127.0.0.1:${port}${path}", { method: "POST", body });
    console.log(status);`;
  const node = [process.execPath, "--input-type=module", "-e", script];
  const child = spawn("nsenter", ["--net", `--target=${inPod.pid}`, ...node], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(body);
  return Number(await text(child.stdout));
}

const received = () =>
  receivers.figures.flatMap(([name, volume]) => volume.named("s3_requests_total").map(({ value }) => [name, value]));

it("OP-3 receives exports from inside the network, and each replaces the one before", async () => {
  await receivers.listen(silentLogger, pod, await socket());
  expect(receivers.isListening(pod)).toBe(true);
  expect(await post(requests(3))).toBe(200);
  expect(await post(requests(5))).toBe(200);
  expect(received()).toEqual([["mp-1", 5]]);
});

it("OP-3 is not reachable from any other network", async () => {
  await receivers.listen(silentLogger, pod, await socket());
  const outside = connect(port, "127.0.0.1");
  const [error] = (await once(outside, "error")) as [NodeJS.ErrnoException];
  expect(error.code).toBe("ECONNREFUSED");
});

it("OP-3 refuses what is no export, and goes on", async () => {
  await receivers.listen(silentLogger, pod, await socket());
  expect(await post(Buffer.from("nonsense"))).toBe(400);
  expect(await post(requests(1), "/v1/traces")).toBe(404);
  expect(await post(Buffer.alloc(5 * 1024 * 1024))).toBe(413);
  expect(await post(requests(2))).toBe(200);
  expect(received()).toEqual([["mp-1", 2]]);
});

it("OP-3 drops the figures with the Mountpoint Pod, and a successor of this process can listen again", async () => {
  await receivers.listen(silentLogger, pod, await socket());
  expect(await post(requests(3))).toBe(200);
  receivers.drop(pod.name);
  expect(received()).toEqual([]);
  await receivers.listen(silentLogger, { ...pod, uid: "uid-2" as PodUid }, await socket());
  expect(receivers.isListening(pod)).toBe(false);
  expect(await post(requests(1))).toBe(200);
  expect(received()).toEqual([["mp-1", 1]]);
});

it("OP-3 does not read exports that come too soon after each other", async () => {
  receivers = new FigureReceivers();
  await receivers.listen(silentLogger, pod, await socket());
  expect(await post(requests(3))).toBe(200);
  expect(await post(requests(5))).toBe(200);
  expect(received()).toEqual([["mp-1", 3]]);
});

it("OP-3 a port that is taken is a failure, and what is received goes on", async () => {
  await receivers.listen(silentLogger, pod, await socket());
  await expect(socket()).rejects.toThrow("address already in use");
  expect(await post(requests(3))).toBe(200);
});
