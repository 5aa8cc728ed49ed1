import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { call } from "../../../test/support/fake-node.ts";
import { mountDevice, type PodName } from "../../core/names.ts";
import { type DeviceId, fuseDevice } from "../../linux/device-id.ts";
import type { Mount } from "../../linux/mounts/mountinfo.ts";
import { sourcePath } from "../domain/target-path.ts";
import { watchEnd } from "./end-watchdog.ts";

const kubeletDir = "/var/lib/kubelet";
const [hungPod, otherPod] = ["mp-1", "mp-2"] as [PodName, PodName];
const ending = { kubeletDir, hostProc: "/proc", hangLimitMs: 600_000, podUids: { [hungPod]: "u1", [otherPod]: "u2" } };

let end: AbortController;

beforeEach(() => {
  vi.useFakeTimers();
  end = new AbortController();
});

afterEach(() => {
  end.abort();
  vi.useRealTimers();
});

function sourceOf(name: PodName, minor: number, device = mountDevice): Mount {
  const mountPoint = sourcePath(kubeletDir, name);
  const deviceId = fuseDevice(minor);
  return { id: minor, parentId: 1, deviceId, root: "/", mountPoint, readOnly: false, fsType: "fuse", device };
}

type Machine = ReturnType<typeof machine>;

/** Two sources; the first neither answers nor uses CPU. */
function machine() {
  const aborted: DeviceId[] = [];
  return {
    aborted,
    table: [sourceOf(hungPod, 45), sourceOf(otherPod, 46)] as readonly Mount[],
    withRequests: new Set([fuseDevice(45)]) as ReadonlySet<DeviceId>,
    cpu: (): number | undefined => 5000,
    mounts() {
      return this.table;
    },
    connectionsWithRequests() {
      return this.withRequests;
    },
    cpuTimeNs(): number | undefined {
      return this.cpu();
    },
    abortFuse: (deviceId: DeviceId) => void aborted.push(deviceId),
  };
}

async function givenUpAfter(ms: number, seen: Machine): Promise<readonly DeviceId[]> {
  watchEnd({ ...call, signal: end.signal }, seen, ending).catch(() => undefined);
  await vi.advanceTimersByTimeAsync(ms);
  return seen.aborted;
}

it("LC-17 gives up only a mount-s3 with waiting requests that uses no CPU for the limit", async () => {
  const seen = machine();
  expect(await givenUpAfter(625_000, seen)).toEqual([]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(seen.aborted).toEqual([fuseDevice(45)]);
});

it.for([
  ["no request waits for an answer", { withRequests: new Set<DeviceId>() }],
  ["mount-s3 uses CPU time", { cpu: () => performance.now() }],
  ["the process is not visible", { cpu: () => undefined }],
  ["the mount is foreign", { table: [sourceOf(hungPod, 45, "sshfs")] }],
  ["the source is unmounted", { table: [sourceOf(otherPod, 46)] }],
] satisfies [string, Partial<Machine>][])("LC-17 gives up no mount if %s", async ([, difference]) => {
  expect(await givenUpAfter(3_600_000, Object.assign(machine(), difference))).toEqual([]);
});

it("LC-17 restarts the limit for a new mount at the same source", async () => {
  const seen = machine();
  await givenUpAfter(500_000, seen);
  seen.table = [sourceOf(hungPod, 47)];
  seen.withRequests = new Set([fuseDevice(47)]);
  await vi.advanceTimersByTimeAsync(500_000);
  expect(seen.aborted).toEqual([]);
});

it("LC-17 continues after a failed check, and ends with the plugin", async () => {
  const seen = machine();
  let looks = 0;
  seen.mounts = () => {
    looks += 1;
    if (looks === 1) throw new Error("EMFILE");
    return seen.table;
  };
  const done = watchEnd({ ...call, signal: end.signal }, seen, ending);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(looks).toBe(4);
  end.abort();
  await done;
  expect(looks).toBe(4);
});
