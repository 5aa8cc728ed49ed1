import { expect, it } from "vitest";
import { call, mountpointPod } from "../../../test/support/fake-node.ts";
import { mountS3Log } from "./mount-s3-log.ts";

it("returns the end of the log of mount-s3's container", async () => {
  const log = mountS3Log({ logTail: async (_call, ref, options) => JSON.stringify({ ref, options }) }, "mount-s3");
  expect(JSON.parse(await log(call, mountpointPod))).toEqual({
    ref: { namespace: "mount-s3", name: mountpointPod },
    options: { container: "mountpoint", lines: 50 },
  });
});

const forbidden = async () => Promise.reject(new Error("forbidden"));

it("returns an empty text if the right is missing, and rejects if the call has ended", async () => {
  const log = mountS3Log({ logTail: forbidden }, "mount-s3");
  expect(await log(call, mountpointPod)).toBe("");
  await expect(log({ ...call, signal: AbortSignal.abort() }, mountpointPod)).rejects.toThrow("forbidden");
});
