/** What the rules about waiting Mountpoint Pods find (WM-1). */
import { afterEach, beforeEach, expect, it } from "vitest";
import type { NodeName, PodName } from "../../src/core/names.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { installation } from "../../src/reconciler/domain/mountpoint-pod/installation.fixture.ts";
import { warmPod } from "../../src/reconciler/domain/mountpoint-pod/warm-pod.ts";
import type { VolumeOnNodeKey } from "../../src/reconciler/domain/volume-on-node.ts";
import { emptyView } from "../../src/reconciler/observe/view.ts";
import { WarmPool } from "../../src/reconciler/warm/pool.ts";
import { ApiServer, type Writer } from "./api-server.ts";
import { SimulatedProcess } from "./process.ts";
import { firstRelease } from "./release.ts";
import { VirtualTime } from "./virtual-time.ts";
import { WaitingRules } from "./waiting-rules.ts";
import { recordedClaims } from "./warm-claims.ts";

const node = "worker-1" as NodeName;
const nameOf = (number: number) => `mp-warm-${String(number).padStart(40, "0")}` as PodName;

let server: ApiServer;
let rules: WaitingRules;
let recording: Disposable;

beforeEach(() => {
  server = new ApiServer(
    () => new Date(0),
    () => undefined,
  );
  rules = new WaitingRules({ cluster: { server } });
  recording = recordedClaims();
});
afterEach(() => recording[Symbol.dispose]());

function writer(name: string): Writer {
  const clocks = { skewMs: 0, rate: 1 };
  const process = new SimulatedProcess(name, new VirtualTime(), clocks, () => 0);
  return { name, process, leaderWhenSent: name, term: 1, release: { ...firstRelease, warmPerNode: 1 } };
}

function make(number: number, by: Writer, isInTerm = true): void {
  const owner = { name: "owner", uid: "uid of owner" };
  const pod = warmPod(installation, { name: nameOf(number), node, owner, settings: "" });
  const after = { ...pod, metadata: { ...pod.metadata, uid: "u", resourceVersion: "1", creationTimestamp: "" } };
  rules.checkPod({ kind: kinds.pods, before: undefined, after, by }, by, isInTerm);
  server.create(kinds.pods, pod);
}

function list(number: number, attachment: string, isInTerm = true): void {
  const metadata = { name: attachment, uid: "u", resourceVersion: "1", creationTimestamp: "" };
  const after = { metadata, spec: { mountpointS3PodAttachments: { [nameOf(number)]: [] } } };
  rules.checkAttachment({ kind: kinds.attachments, before: undefined, after, by: undefined }, isInTerm);
}

it("WM-1 no more wait on a node than are to, whichever leader created them", () => {
  make(0, writer("replica-0"));
  expect(() => make(1, writer("replica-1"))).toThrow("2 wait on worker-1");
});

it("WM-1 one that the leader has claimed for a volume does not count, and one that another process has claimed does", () => {
  const [leader, other] = [writer("replica-0"), writer("replica-1")];
  using pool = new WarmPool(emptyView(), installation);
  make(0, leader);
  leader.process.run(() => pool.claim(nameOf(0), "worker-1/data" as VolumeOnNodeKey, "s3pa-1"));
  make(1, leader);
  expect(() => make(2, other)).toThrow("3 wait on worker-1");
});

it("WM-1 one that arrives after the term of its sender does not count", () => {
  make(0, writer("replica-0"), false);
  make(1, writer("replica-1"));
  expect(() => make(2, writer("replica-1"))).toThrow("2 wait on worker-1");
});

it("WM-1 the next leader gives none to a volume that a leader has given to another one", () => {
  list(0, "s3pa-1");
  list(0, "s3pa-1");
  expect(() => list(0, "s3pa-2")).toThrow("is given to two volumes");
});

it("WM-1 a request that arrives after the term of its sender does not show what the next leader could know", () => {
  list(0, "s3pa-1", false);
  expect(() => list(0, "s3pa-2")).not.toThrow();
});
