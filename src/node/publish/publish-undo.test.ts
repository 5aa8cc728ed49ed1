import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { errno } from "../../../test/support/fake-kernel.ts";
import {
  call,
  dies,
  FakeNode,
  intentOf,
  mountpointPod,
  podOf,
  source,
  target,
  workload,
} from "../../../test/support/fake-node.ts";
import type { DeviceId } from "../../linux/device-id.ts";
import { publish } from "./publish.ts";

let node: FakeNode;

beforeEach(() => {
  vi.useFakeTimers();
  node = new FakeNode();
});

afterEach(() => {
  node[Symbol.dispose]();
  vi.useRealTimers();
});

const publishOne = (intent = intentOf()) => publish(call, node.rooms.publishing, intent);
const nothing = { mounts: [], devices: 0, openConnections: 0 };

it.for(["openFuse", "makeDirectory", "mountFuse"] as const)("leaves no trace when %s fails", async (step) => {
  node.knows(podOf(), workload);
  node.kernel.faults.set(step, "EPERM");
  await expect(publishOne()).rejects.toThrow('Could not mount "photos"');
  expect(node.traces).toEqual(nothing);
  expect(node.kernel.directories).not.toContain(source);
});

it("leaves no trace when the Mountpoint Pod refuses the request", async () => {
  node.knows(podOf(), workload);
  node.sendFault = errno("EPIPE");
  await expect(publishOne()).rejects.toThrow('Could not mount "photos"');
  expect(node.traces).toEqual(nothing);
});

it.for([
  { step: "bind", readOnly: false },
  { step: "bindReadOnly", readOnly: true },
] as const)("leaves the target unmounted when $step fails", async ({ step, readOnly }) => {
  node.knows(podOf(), workload);
  node.kernel.faults.set(step, "EPERM");
  await expect(publishOne(intentOf(workload, { readOnly }))).rejects.toThrow('Could not mount "photos"');
  expect(node.traces.mounts).toEqual([source]);
});

it("never gives the node's own disk to a workload when the source is unmounted before the bind", async () => {
  node.knows(podOf(), workload);
  node.kernel.faults.set("bind", () => void node.kernel.unmount(source));
  await expect(publishOne()).rejects.toMatchObject({ kind: "notReady" });
  expect(node.traces.mounts).toEqual([]);
});

it("unmounts the target when mount-s3 died between its answer and the bind", async () => {
  node.knows(podOf(), workload);
  node.kernel.faults.set("bind", () => node.kernel.server(source, "dead"));
  await expect(publishOne()).rejects.toMatchObject({ kind: "notReady", message: expect.stringContaining("is dead") });
  expect(node.traces.mounts).toEqual([source]);
});

it.for([
  {
    instead: "another mount of ours",
    happens: () => {
      node.kernel.unmount(source);
      using device = node.kernel.openFuse();
      node.kernel.mountFuse(device, source);
    },
  },
  {
    instead: "a disk whose minor number is the same",
    happens: () => {
      const { deviceId = "" } = node.kernel.at(source) ?? {};
      node.kernel.disk = { ...node.kernel.disk, deviceId: deviceId.replace(/^0:/, "254:") as DeviceId };
      node.kernel.unmount(source);
    },
  },
])("finds out that it has bound $instead", async ({ happens }) => {
  node.knows(podOf(), workload);
  node.kernel.faults.set("bind", happens);
  await expect(publishOne()).rejects.toThrow("vanished while it was being published");
  expect(node.kernel.at(target)).toBeUndefined();
});

it("returns the error message of mount-s3 after its death, and unmounts", async () => {
  node.knows(podOf(), workload);
  node.behaviour = (fake, device) => {
    dies(fake, device);
    const message = "INFO starting\nError: Failed to create S3 client\n\nCaused by:\n  Access Denied\n";
    const lastTermination = { exitCode: 1, finishedAt: new Date(Date.now() + 1000).toISOString(), message };
    fake.put(podOf({ lastTermination }));
  };
  await expect(publishOne()).rejects.toMatchObject({
    kind: "denied",
    message: `Could not mount "photos" at "${target}": Error: Failed to create S3 client Caused by: Access Denied`,
    hint: expect.stringContaining(`kubectl logs -n mount-s3 ${mountpointPod}`),
  });
  expect(node.traces).toEqual(nothing);
});

it("never returns a final error while a dead mount is at the target", async () => {
  node.knows(podOf(), workload);
  await publishOne();
  node.kernel.server(source, "dead");
  node.hangUp();
  node.listens = true;
  node.kernel.faults.set("openFuse", "EPERM");
  await expect(publishOne()).rejects.toMatchObject({ kind: "notReady", message: expect.stringContaining("EPERM") });
});

it("ignores the termination message of an earlier container", async () => {
  const lastTermination = { exitCode: 1, finishedAt: "2020-01-01T00:00:00Z", message: "Error: long ago" };
  node.knows(podOf({ lastTermination }), workload);
  node.behaviour = dies;
  await Promise.all([
    expect(publishOne()).rejects.toThrow("mount-s3 exited without an error message"),
    vi.advanceTimersByTimeAsync(10_000),
  ]);
});

it("DS-13 unmounts the target when the bind mount does not propagate to the node", async () => {
  node.knows(podOf(), workload);
  node.kernel.propagates = false;
  await expect(publishOne()).rejects.toMatchObject({ message: expect.stringContaining("but not on the node") });
  expect(node.traces.mounts).toEqual([source]);
});

it("DS-13 publishes if the mounts of the node are not visible", async () => {
  node.knows(podOf(), workload);
  node.kernel.propagates = undefined;
  await publishOne();
  expect(node.traces.mounts).toEqual([source, target]);
});
