import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { errno } from "../../../test/support/fake-kernel.ts";
import {
  call,
  dies,
  FakeNode,
  hangs,
  intentOf,
  mountpointPod,
  otherWorkload,
  podOf,
  source,
  target,
  workload,
} from "../../../test/support/fake-node.ts";
import type { PodName, PodUid } from "../../core/names.ts";
import { fuseDevice } from "../../linux/device-id.ts";
import { Progress } from "../../runtime/progress.ts";
import { publish } from "../publish/publish.ts";
import { probeSources } from "./probe-loop.ts";

let node: FakeNode;
let end: AbortController;

beforeEach(async () => {
  vi.useFakeTimers();
  end = new AbortController();
  node = new FakeNode().knows(podOf(), workload);
  await publish(call, node.rooms.publishing, intentOf());
  probeSources({ ...call, signal: end.signal }, node.rooms.sources, new Progress()).catch(() => undefined);
  await vi.advanceTimersByTimeAsync(1);
});

afterEach(() => {
  end.abort();
  node[Symbol.dispose]();
  vi.useRealTimers();
});

const seen = () => node.rooms.sources.registry.get(mountpointPod);

it("reports the death of mount-s3 at once, and counts the heal", async () => {
  expect(seen()).toMatchObject({ condition: "serving", lastDeath: undefined, heals: 0 });
  node.kernel.server(source, "dead");
  node.hangUp();
  await vi.advanceTimersByTimeAsync(1);
  expect(seen()).toMatchObject({ condition: "dead", lastDeath: expect.any(Date) });
  node.listens = true;
  await publish(call, node.rooms.publishing, intentOf());
  await vi.advanceTimersByTimeAsync(2000);
  expect(seen()).toMatchObject({ condition: "serving", heals: 1 });
});

it("reads the mount table as often for many sources as for one", async () => {
  const reads = vi.spyOn(node.kernel, "mounts");
  const readsOfRound = async () => {
    reads.mockClear();
    await vi.advanceTimersByTimeAsync(30_000);
    return reads.mock.calls.length;
  };
  const ofOne = await readsOfRound();
  for (let more = 0; more < 5; more += 1) {
    node.knows(podOf({ name: `mp-more-${more}` as PodName, uid: `more-${more}` as PodUid }), `more-${more}` as PodUid);
  }
  expect(await readsOfRound()).toBe(ofOne);
});

it("gives up a mount that neither answers nor uses CPU for the limit, and not before", async () => {
  node.kernel.server(source, "hung");
  await vi.advanceTimersByTimeAsync(590_000);
  expect(seen().condition).toBe("hung");
  await vi.advanceTimersByTimeAsync(100_000);
  expect(seen().condition).toBe("dead");
});

it("DS-14 reports the use of a source only if its Pod has the needs-unmount annotation", async () => {
  expect(seen().inUse).toBeUndefined();
  node.knows({ ...podOf(), needsUnmount: true }, workload);
  await vi.advanceTimersByTimeAsync(31_000);
  expect(seen()).toMatchObject({ condition: "serving", inUse: true });
  node.kernel.unmount(target);
  await vi.advanceTimersByTimeAsync(31_000);
  expect(seen()).toMatchObject({ condition: "serving", inUse: false });
});

it("DS-14 a source is in use while a mount from it is healed, also when its own mount is gone", async () => {
  node.rooms.sources.registry.dead.markReady();
  node.kernel.server(source, "dead");
  node.hangUp();
  await vi.advanceTimersByTimeAsync(1);
  const deviceId = node.kernel.at(source)?.deviceId ?? "";
  node.kernel.unmount(source);
  node.knows({ ...podOf(), needsUnmount: true }, workload);
  await vi.advanceTimersByTimeAsync(31_000);
  expect(seen()).toMatchObject({ condition: "absent", inUse: true });
  node.rooms.sources.registry.dead.remove(deviceId as never);
  await vi.advanceTimersByTimeAsync(31_000);
  expect(seen()).toMatchObject({ condition: "absent", inUse: false });
});

/** Publishes repeatedly almost without pause, like kubelet. */
async function publishInVain(attempts: number, of = workload): Promise<void> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    await Promise.all([
      expect(publish(call, node.rooms.publishing, intentOf(of))).rejects.toThrow("Could not mount"),
      vi.advanceTimersByTimeAsync(60_500),
    ]);
  }
}

it("gives up a hung mount while another workload waits for its source, and never reports it as starting", async () => {
  node.knows(podOf(), workload, otherWorkload);
  const reported: string[] = [];
  using _reports = node.rooms.sources.registry.onChange(() => reported.push(seen().condition));
  const hung = node.kernel.at(source)?.deviceId;
  node.kernel.server(source, "hung");
  await publishInVain(9, otherWorkload);
  expect(reported).toEqual(["hung"]);
  expect(node.kernel.at(source)?.deviceId).toBe(hung);
  await publishInVain(2, otherWorkload);
  expect(node.kernel.at(source)?.deviceId).not.toBe(hung);
});

function freezesWhenStartedAgain(): void {
  node.kernel.server(source, "dead");
  node.hangUp();
  node.listens = true;
  node.behaviour = hangs;
}

it("gives up a mount-s3 that hangs during a restart, although a publish waits for it", async () => {
  freezesWhenStartedAgain();
  await publishInVain(1);
  const frozen = node.kernel.at(source)?.deviceId;
  expect(seen().condition).toBe("starting");
  await publishInVain(8);
  expect(node.kernel.at(source)?.deviceId).toBe(frozen);
  await publishInVain(3);
  expect(node.kernel.at(source)?.deviceId).not.toBe(frozen);
});

it("does not give up a slow start", async () => {
  freezesWhenStartedAgain();
  for (let attempt = 0; attempt < 20; attempt += 1) {
    node.kernel.cpuNs = attempt;
    await publishInVain(1);
  }
  node.kernel.server(source, "serving");
  await publish(call, node.rooms.publishing, intentOf());
  await vi.advanceTimersByTimeAsync(30_000);
  expect(seen()).toMatchObject({ condition: "serving", heals: 1 });
  expect(node.requests).toHaveLength(2);
});

it("does not give up a silent mount whose mount-s3 uses CPU time", async () => {
  node.kernel.server(source, "hung");
  for (let minute = 0; minute < 30; minute += 1) {
    node.kernel.cpuNs = minute;
    await vi.advanceTimersByTimeAsync(60_000);
  }
  expect(seen().condition).toBe("hung");
});

it("does not give up a mount whose process is not visible", async () => {
  node.kernel.cpuNs = undefined;
  node.kernel.server(source, "hung");
  await vi.advanceTimersByTimeAsync(2_000_000);
  expect(seen().condition).toBe("hung");
});

it("drops the state of a source that is gone", async () => {
  node.behaviour = dies;
  node.kernel.unmount(source);
  await vi.advanceTimersByTimeAsync(2000);
  expect(seen().condition).toBe("absent");
});

it("continues after an unexpected probe error, logs it once, and ends with the call", async () => {
  const messages: string[] = [];
  const error = (message: string) => void messages.push(message);
  const stop = new AbortController();
  const watching = probeSources(
    { signal: stop.signal, log: { ...call.log, error } },
    node.rooms.sources,
    new Progress(),
  );
  const probe = vi.spyOn(node.kernel, "probe").mockRejectedValue(errno("EAGAIN"));
  await vi.advanceTimersByTimeAsync(100_000);
  expect(messages).toEqual(["a mount could not be probed"]);
  probe.mockRestore();
  node.kernel.server(source, "dead");
  await vi.advanceTimersByTimeAsync(30_000);
  expect(seen().condition).toBe("dead");
  stop.abort(new Error("the end"));
  await watching;
});

it("notices a dead target without a source, after healing has resumed the pending heals", async () => {
  const { dead } = node.rooms.sources.registry;
  const deviceId = node.kernel.at(target)?.deviceId ?? fuseDevice(-1);
  node.kernel.unmount(source);
  node.kernel.server(target, "dead");
  await vi.advanceTimersByTimeAsync(10_000);
  expect(dead.isKnown(deviceId)).toBe(false);
  dead.markReady();
  await vi.advanceTimersByTimeAsync(1);
  expect(dead.isKnown(deviceId)).toBe(true);
});

it("goes on when the mount table cannot be read for once", async () => {
  const read = vi.spyOn(node.kernel, "mounts").mockImplementationOnce(() => {
    throw errno("EMFILE");
  });
  await vi.advanceTimersByTimeAsync(30_000);
  read.mockRestore();
  node.kernel.server(source, "dead");
  await vi.advanceTimersByTimeAsync(30_000);
  expect(seen().condition).toBe("dead");
});

it("looks at the processes of the host for a hung source in full rounds only, also without a connection", async () => {
  node.rooms.sources.registry.disconnect(mountpointPod);
  node.kernel.server(source, "hung");
  const scans = vi.spyOn(node.kernel, "cpuTimeNs");
  await vi.advanceTimersByTimeAsync(120_000);
  expect(seen().condition).toBe("hung");
  expect(scans.mock.calls.length).toBeLessThanOrEqual(4);
});
