import { expect, it } from "vitest";
import { call, podOf } from "../../../test/support/fake-node.ts";
import type { PodUid } from "../../core/names.ts";
import { FigureReceivers } from "./figure-receivers.ts";
import { listenOrLog } from "./follow-figures.ts";

it.for([
  { what: "of this version", but: {}, asked: 1 },
  { what: "of 2.x", but: { isLegacy: true }, asked: 0 },
  { what: "in the network of the host", but: { hostNetwork: true }, asked: 0 },
])("OP-3 listens in Mountpoint Pods $what: $asked, and a failure fails no mount", async ({ but, asked }) => {
  const opened: PodUid[] = [];
  const receivers = new FigureReceivers(async (uid) => {
    opened.push(uid);
    throw new Error("no process of the Pod is visible");
  });
  await listenOrLog(call, receivers, podOf(but));
  expect(opened).toHaveLength(asked);
  expect(receivers.figures).toEqual([]);
});
