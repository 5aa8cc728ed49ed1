import { expect, it } from "vitest";
import { attachmentView, mountpointPodView, volumeView, workloadView } from "../page/page-state.fixture.ts";
import { nodesOf } from "./nodes.ts";
import { nodesFound, volumesFound } from "./search.ts";

const pod = mountpointPodView("mp-77", { workloads: [workloadView("cart", { namespace: "shop" })], health: "problem" });
const volumes = [
  volumeView("orders", {
    ...{ bucket: "archive", prefix: "2026/", problems: ["Access Denied"], health: "problem" },
    attachments: [attachmentView("s3pa-1", { node: "worker-7", mountpointPods: [pod] })],
  }),
  volumeView("quiet", { attachments: [], health: "idle" }),
];
const found = (text: string) => volumesFound(volumes, { text, health: undefined }).map(({ name }) => name);

it.for(["orders", "ARCHIVE/2026", "worker-7", "mp-77", "shop/cart", "denied", " orders  denied "])(
  "%j finds a volume by its parts",
  (text) => expect(found(text)).toEqual(["orders"]),
);

it("nothing finds everything, and one wrong word nothing", () => {
  expect(found("")).toEqual(["orders", "quiet"]);
  expect(found("orders quiet")).toEqual([]);
});

it("the filter by health holds with the text", () => {
  expect(volumesFound(volumes, { text: "", health: "idle" })).toEqual([volumes[1]]);
  expect(volumesFound(volumes, { text: "orders", health: "idle" })).toEqual([]);
});

it("a node is as bad as its worst Mountpoint Pod, and is found by its volumes", () => {
  const nodes = nodesOf(volumes);
  expect(nodes.map(({ name, health }) => ({ name, health }))).toEqual([{ name: "worker-7", health: "problem" }]);
  expect(nodesFound(nodes, { text: "orders", health: "problem" })).toEqual(nodes);
  expect(nodesFound(nodes, { text: "quiet", health: undefined })).toEqual([]);
});
