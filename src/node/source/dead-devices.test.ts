import { expect, it, vi } from "vitest";
import { call } from "../../../test/support/fake-node.ts";
import type { PodName } from "../../core/names.ts";
import { fuseDevice } from "../../linux/device-id.ts";
import { type DeadDevice, DeadDevices } from "./dead-devices.ts";

const mount = { deviceId: fuseDevice(45), mountPoint: "/source" };
const pins = () => {
  const open = new Set<string>();
  const pin = (mountPoint: string) => {
    open.add(mountPoint);
    return { [Symbol.dispose]: () => void open.delete(mountPoint) };
  };
  return { open, pin };
};

it("reports each death once, including one from before the listener was added", () => {
  const mounts = new DeadDevices(pins().pin);
  mounts.notice(mount, "mp-1" as PodName);
  const listener = vi.fn<(dead: DeadDevice) => void>();
  using _ = mounts.onNotice(listener);
  mounts.notice(mount, undefined);
  mounts.notice({ ...mount, deviceId: fuseDevice(46) }, undefined);
  expect(listener.mock.calls.map(([dead]) => dead)).toMatchObject([
    { deviceId: fuseDevice(45), mountpointPod: "mp-1" },
    { deviceId: fuseDevice(46), mountpointPod: undefined },
  ]);
});

it("pins the file system, and with it the minor number, until the device is removed", () => {
  const { open, pin } = pins();
  const mounts = new DeadDevices(pin);
  mounts.notice(mount, undefined);
  expect([...open]).toEqual(["/source"]);
  mounts.remove(fuseDevice(45));
  expect([...open]).toEqual([]);
  expect(mounts.isKnown(fuseDevice(45))).toBe(false);
});

it("waits for the next attempt of a dead device, wakes the healer, and does not wait for other devices", async () => {
  const mounts = new DeadDevices(pins().pin);
  await mounts.waitForAttempt(call, fuseDevice(45));
  mounts.notice(mount, undefined);
  const { nextWake } = mounts;
  let isTried = false;
  const tried = mounts.waitForAttempt(call, fuseDevice(45)).finally(() => {
    isTried = true;
  });
  await nextWake;
  expect(isTried).toBe(false);
  mounts.attemptEnded(fuseDevice(45));
  await tried;
  expect(isTried).toBe(true);
});
