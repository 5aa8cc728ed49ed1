import { expect, it } from "vitest";
import { installation } from "./installation.fixture.ts";
import type { MountpointPodConfig } from "./mountpoint-pod.ts";
import { settingsHash } from "./settings-hash.ts";

const usual = settingsHash(installation);
const ca = {
  configMap: "ca",
  checksum: "",
  image: "driver:3.0.0",
  imagePullPolicy: "IfNotPresent",
  resources: { requests: { cpu: "10m", memory: "16Mi" }, limits: { memory: "64Mi" } },
} as const;

it.for<[string, Partial<MountpointPodConfig>]>([
  ["image", { image: "driver:3.0.1" }],
  ["version of the driver", { driverVersion: "3.0.1" }],
  ["version of mount-s3", { mountpointVersion: "1.25.0" }],
  ["resources", { resources: { requests: { cpu: "20m", memory: "32Mi" }, limits: {} } }],
  ["tolerations", { tolerations: [] }],
  ["priority class", { priorityClassName: "other" }],
  ["labels", { extra: { labels: { a: "b" }, annotations: {} } }],
  ["annotations", { extra: { labels: {}, annotations: { a: "b" } } }],
  ["certificate authority", { ca }],
  ["users", { userBy: "platform" }],
])("LC-21 a Mountpoint Pod with another %s is outdated", ([, but]) => {
  expect(settingsHash({ ...installation, ...but })).not.toBe(usual);
});

it.for<[string, Partial<MountpointPodConfig>]>([
  ["pull policy", { imagePullPolicy: "Always" }],
  ["pull secrets", { imagePullSecrets: ["a"] }],
  ["class of Mountpoint Pods that preempt", { preemptingPriorityClassName: "other" }],
  ["order of fields", { resources: { limits: {}, requests: { memory: "32Mi", cpu: "10m" } } }],
  ["notation of an amount", { resources: { limits: {}, requests: { memory: "32768Ki", cpu: "0.01" } } }],
  ["label that no Pod may have", { extra: { labels: { a: "not valid!" }, annotations: {} } }],
  [
    "request to move and live option",
    {
      extra: {
        labels: {},
        annotations: { "s3.csi.scality.com/move": "1", "live.s3.csi.scality.com/cache": "" },
      },
    },
  ],
])("is the same with another %s", ([, but]) => {
  expect(settingsHash({ ...installation, ...but })).toBe(usual);
});

it("LC-21 other certificates of the same ConfigMap make a Mountpoint Pod outdated", () => {
  expect(settingsHash({ ...installation, ca: { ...ca, checksum: "1" } })).not.toBe(
    settingsHash({ ...installation, ca }),
  );
});

it("LC-21 another image or other resources of the container that installs certificates replace no Pod that runs", () => {
  const others = { image: "other", resources: { requests: {}, limits: {} } };
  expect(settingsHash({ ...installation, ca: { ...ca, ...others } })).toBe(settingsHash({ ...installation, ca }));
});
