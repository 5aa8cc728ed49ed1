import { expect, it } from "vitest";
import { mounterConfigFrom } from "./config.ts";

it("has the defaults of 2.x", () => {
  expect(mounterConfigFrom([], {})).toEqual({
    commDir: "/comm",
    binDir: "/mountpoint-s3/bin",
    cacheDir: "/cache",
    receiveTimeoutMs: 120_000,
    memoryTarget: undefined,
    listeningDescriptor: undefined,
  });
});

it("takes the directory of mount-s3 from the image, unless the flag names another", () => {
  const env = { MOUNTPOINT_BIN_DIR: "/of/image" };
  expect(mounterConfigFrom([], env).binDir).toBe("/of/image");
  expect(mounterConfigFrom(["--mountpoint-bin-dir=/of/flag"], env).binDir).toBe("/of/flag");
});

it.for(["soon", "0s", "-1m", ""])("refuses to wait for %o", (timeout) => {
  expect(() => mounterConfigFrom([`--mount-sock-recv-timeout=${timeout}`], {})).toThrow("--mount-sock-recv-timeout");
});

it("waits long rather than not at all for a duration that no timer can hold", () => {
  expect(mounterConfigFrom(["--mount-sock-recv-timeout", "9000h"], {}).receiveTimeoutMs).toBe(2 ** 31 - 1);
});

it("reports every mistake at once", () => {
  expect(() => mounterConfigFrom(["--mountpoint-bin-dri=/x", "--mount-sock-recv-timeout=soon"], {})).toThrow(
    "unknown flag --mountpoint-bin-dri: did you mean --mountpoint-bin-dir?; " +
      '--mount-sock-recv-timeout must be a duration above 0 such as 2m or 1h30m, but is "soon"',
  );
});
