import { expect, it } from "vitest";
import type { Pod } from "../../kube/kinds.ts";
import { isAtWork } from "./nodes.ts";

const waiting = (reason: string) => ({ containerStatuses: [{ name: "s3-plugin", state: { waiting: { reason } } }] });
const running = { containerStatuses: [{ name: "s3-plugin", state: { running: {} } }] };
const notReady = { conditions: [{ type: "Ready", status: "False" }] };

it.for<[string, object, boolean]>([
  ["runs", { status: running }, true],
  ["runs on a node that is not ready", { status: { ...running, ...notReady } }, true],
  ["has no report yet", {}, true],
  ["starts", { status: waiting("ContainerCreating") }, true],
  ["has an image that cannot be pulled", { status: waiting("ImagePullBackOff") }, false],
  ["crashes again and again", { status: waiting("CrashLoopBackOff") }, false],
  ["is being deleted", { metadata: { deletionTimestamp: "2026-01-15T12:00:00Z" } }, false],
  ["is not scheduled", { spec: {} }, false],
])("WM-1 a node plugin that %s is at work: $2", ([, but, expected]) => {
  const pod = { metadata: {}, spec: { nodeName: "worker-1" }, ...but } as unknown as Pod;
  expect(isAtWork(pod)).toBe(expected);
});
