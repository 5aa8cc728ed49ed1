import { expect, it } from "vitest";
import { attachmentView, mountpointPodView, volumeView } from "../page/page-state.fixture.ts";
import { noRates } from "../page/rates.ts";
import { bytesPerSecond, trafficText, volumeRates } from "./rate-texts.ts";

it.each([
  [0, "0 B/s"],
  [0.4, "0 B/s"],
  [1023, "1023 B/s"],
  [1536, "1.5 KiB/s"],
  [250 * 2 ** 20, "250 MiB/s"],
  [5000 * 2 ** 30, "5000 GiB/s"],
])("%d → %s", (value, text) => expect(bytesPerSecond(value)).toBe(text));

it("names errors only where there are some", () => {
  expect(trafficText({ ...noRates, readBytes: 2048, requests: 1.25 })).toBe(
    "reads 2.0 KiB/s · writes 0 B/s · 1.3 requests/s",
  );
  expect(trafficText({ ...noRates, errors: 0.5 })).toMatch(/0\.5 errors\/s$/);
});

it("a volume has the rates of its Mountpoint Pods, as far as they are known", () => {
  const mountpointPods = ["a", "b", "unknown"].map((name) => mountpointPodView(name));
  const volume = volumeView("v", { attachments: [attachmentView("s3pa", { mountpointPods })] });
  const one = { ...noRates, readBytes: 3 };
  expect(volumeRates(volume, { a: one, b: one, other: one })?.readBytes).toBe(6);
  expect(volumeRates(volume, { other: one })).toBeUndefined();
});
