import { expect, it, vi } from "vitest";
import { call } from "../../../test/support/fake-node.ts";
import type { PodName } from "../../core/names.ts";
import { type DeadDevice, DeadDevices } from "./dead-devices.ts";

const mount = { minor: 45, mountPoint: "/source" };
const pins = () => {
  const open = new Set<string>();
  const pin = (mountPoint: string) => {
    open.add(mountPoint);
    return { [Symbol.dispose]: () => void open.delete(mountPoint) };
  };
  return { open, pin };
};

it("tells of each death once, also of one that came before anybody listened", () => {
  const mounts = new DeadDevices(pins().pin);
  mounts.notice(mount, "mp-1" as PodName);
  const listener = vi.fn<(dead: DeadDevice) => void>();
  using _ = mounts.onNotice(listener);
  mounts.notice(mount, undefined);
  mounts.notice({ ...mount, minor: 46 }, undefined);
  expect(listener.mock.calls.map(([dead]) => dead)).toMatchObject([
    { minor: 45, mountpointPod: "mp-1" },
    { minor: 46, mountpointPod: undefined },
  ]);
});

it("keeps the file system, and with it its number, until it is over", () => {
  const { open, pin } = pins();
  const mounts = new DeadDevices(pin);
  mounts.notice(mount, undefined);
  expect([...open]).toEqual(["/source"]);
  mounts.remove(45);
  expect([...open]).toEqual([]);
  expect(mounts.isKnown(45)).toBe(false);
});

it("lets others wait for the next attempt, wakes the healer for them, and holds up nobody else", async () => {
  const mounts = new DeadDevices(pins().pin);
  await mounts.waitForAttempt(call, 45);
  mounts.notice(mount, undefined);
  const { news } = mounts;
  let isTried = false;
  const tried = mounts.waitForAttempt(call, 45).finally(() => {
    isTried = true;
  });
  await news;
  expect(isTried).toBe(false);
  mounts.attemptEnded(45);
  await tried;
  expect(isTried).toBe(true);
});
