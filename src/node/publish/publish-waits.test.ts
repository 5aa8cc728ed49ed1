import { afterEach, beforeEach, expect, it, vi } from "vitest";
import {
  call,
  FakeNode,
  hangs,
  intentOf,
  mountpointPod,
  podOf,
  source,
  workload,
} from "../../../test/support/fake-node.ts";
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

it("connects as soon as the mounter listens, without waiting for the API", async () => {
  node.knows(podOf({ phase: "pending" }), workload);
  node.listens = false;
  const publishing = publishOne();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(node.requests).toEqual([]);
  node.startsListening();
  await publishing;
  expect(node.requests).toHaveLength(1);
});

it("fails at once when the API reports that the Mountpoint Pod cannot start", async () => {
  node.knows(podOf({ phase: "pending" }), workload);
  node.listens = false;
  const publishing = publishOne();
  setTimeout(() => node.put(podOf({ phase: "failed" })), 1);
  await Promise.all([expect(publishing).rejects.toMatchObject({ kind: "notReady" }), vi.advanceTimersByTimeAsync(1)]);
});

it("reports what is missing before the caller's own deadline", async () => {
  node.knows(podOf());
  const publishing = publish({ ...call, endsAtMs: Date.now() + 15_000 }, node.rooms.publishing, intentOf());
  await Promise.all([
    expect(publishing).rejects.toThrow("Timed out waiting for MountpointS3PodAttachment"),
    vi.advanceTimersByTimeAsync(14_000),
  ]);
});

it("queues the source for the unmount loop at its end, which skipped the source meanwhile", async () => {
  node.knows(podOf(), workload);
  node.sendFault = new Error("broken pipe");
  await expect(publishOne()).rejects.toThrow("Could not mount");
  await expect(node.rooms.sources.unmounts.take(call)).resolves.toBe(mountpointPod);
});

it("reports the connection problem from the log of mount-s3, and leaves the mount for the next call", async () => {
  node.knows(podOf(), workload);
  node.behaviour = hangs;
  const refusal =
    "2026-11-16T08:41:47.372Z  WARN ThreadId(06) awscrt::tls-handler: id=0x7f2b: Certificate is untrusted";
  node.log = `2026-11-16T08:41:47.100Z  INFO ThreadId(01) mount_s3: mount-s3 1.24.0\n${refusal}\n`;
  await Promise.all([
    expect(publishOne()).rejects.toMatchObject({
      kind: "notReady",
      message: expect.stringMatching(
        /^Could not mount .*: mount-s3 does not reach the object store: Certificate is untrusted$/,
      ),
      hint: expect.stringMatching(/tls\.caCertConfigMap.*kubectl logs -n mount-s3 mp-/),
    }),
    vi.advanceTimersByTimeAsync(10_000),
  ]);
  expect(node.traces.mounts).toEqual([source]);

  const again = publishOne();
  node.kernel.server(source, "serving");
  await again;
  expect(node.requests).toHaveLength(1);
});

it("leaves a slow start mounted at the limit, and the next call finds it", async () => {
  node.knows(podOf(), workload);
  node.behaviour = hangs;
  await Promise.all([
    expect(publishOne()).rejects.toMatchObject({
      kind: "notReady",
      message: expect.stringContaining("Timed out waiting for mount-s3"),
    }),
    vi.advanceTimersByTimeAsync(60_000),
  ]);
  expect(node.traces.mounts).toEqual([source]);

  const again = publishOne();
  node.kernel.server(source, "serving");
  await again;
  expect(node.requests).toHaveLength(1);
});

it.for([
  {
    missing: "Timed out waiting for MountpointS3PodAttachment",
    arrange: () => node.knows(podOf()),
  },
  {
    missing: "Failed to list MountpointS3PodAttachments",
    arrange: () => node,
  },
  {
    missing: `Timed out waiting for Mountpoint Pod ${mountpointPod} to be scheduled`,
    arrange: () => node.knows(undefined, workload),
  },
  {
    missing: "to listen: it is CrashLoopBackOff, and it ended before with: Error: no such bucket",
    arrange: () => {
      node.listens = false;
      const lastTermination = { exitCode: 1, message: "Error: no such bucket\n" };
      return node.knows(podOf({ waiting: { reason: "CrashLoopBackOff" }, lastTermination }), workload);
    },
  },
  {
    missing: "to listen: it is pending",
    arrange: () => {
      node.volumeExists = false;
      return node.knows(podOf({ phase: "pending" }), workload);
    },
  },
])("names what was missing when time is up: $missing", async ({ missing, arrange }) => {
  arrange();
  await Promise.all([
    expect(publishOne()).rejects.toMatchObject({
      kind: "notReady",
      message: expect.stringContaining(missing),
    }),
    vi.advanceTimersByTimeAsync(60_000),
  ]);
});

it("does not wait for an unschedulable Mountpoint Pod, and returns the message of the controller", async () => {
  node.knows(undefined, workload);
  const publishing = publishOne();
  const message = `Mountpoint Pod ${mountpointPod} has no place on the node: Insufficient memory`;
  setTimeout(() => node.reportsUnschedulable(message), 1000);
  await Promise.all([
    expect(publishing).rejects.toMatchObject({ kind: "notReady", message: expect.stringContaining(message) }),
    vi.advanceTimersByTimeAsync(1000),
  ]);
});

it("waits for a scheduled Mountpoint Pod although another one is unschedulable", async () => {
  node.knows(undefined, workload);
  node.reportsUnschedulable("Mountpoint Pod mp-other has no place on the node");
  const publishing = publishOne();
  setTimeout(() => node.put(podOf()), 1000);
  await Promise.all([publishing, vi.advanceTimersByTimeAsync(1000)]);
  expect(node.requests).toHaveLength(1);
});

it.for([
  { pod: { needsUnmount: true }, reason: "is being unmounted" },
  { pod: { terminating: true }, reason: "is being deleted" },
  {
    pod: { phase: "failed", explanation: "Evicted: low on memory" },
    reason: "has ended (failed: Evicted: low on memory)",
  },
  { pod: { waiting: { reason: "ErrImagePull", message: "denied" } }, reason: "does not start (ErrImagePull: denied)" },
] as const)("does not wait for a Mountpoint Pod that $reason", async ({ pod, reason }) => {
  node.listens = false;
  node.knows(podOf(pod), workload);
  await expect(publishOne()).rejects.toThrow(reason);
});

it("stops waiting for a hung mount-s3 when its Mountpoint Pod needs unmount, so that its source can be unmounted", async () => {
  node.knows(podOf(), workload);
  node.behaviour = hangs;
  setTimeout(() => node.put(podOf({ needsUnmount: true })), 1000);
  await Promise.all([expect(publishOne()).rejects.toThrow("is being unmounted"), vi.advanceTimersByTimeAsync(1000)]);
  expect(node.rooms.sources.registry.isPublishing(mountpointPod)).toBe(false);
});
