import { beforeAll, expect, it } from "vitest";
import { openCluster } from "../support/cluster.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { installAttachmentKind, Stage } from "../support/stage.ts";

const cluster = openCluster();
beforeAll(() => installAttachmentKind(cluster));
const long = { timeout: 60_000, interval: 50 };

it("x", async () => {
  console.time("open");
  await using stage = await Stage.open(cluster);
  console.timeEnd("open");
  console.time("rec");
  await using reconciler = await ReconcilerProcess.start(stage);
  console.timeEnd("rec");
  console.time("vol");
  const claim = await stage.volume();
  const pod = await stage.workload("a", { claims: [claim] });
  console.timeEnd("vol");
  console.time("served");
  await expect.poll(() => stage.served(), long).not.toEqual({});
  console.timeEnd("served");
  console.log(JSON.stringify((await stage.mountpointPods())[0].status));
  await stage.deletePod(pod);
  await expect.poll(() => stage.served(), long).toEqual({});
  console.time("dis");
  console.log(reconciler.log);
});
