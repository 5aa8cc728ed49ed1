/** The reconciler against a real API server: either of them may end at any moment. */
import { beforeAll, expect, it } from "vitest";
import { openCluster } from "../support/cluster.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { installAttachmentKind, isMarked, long, mountpointPodOf, Stage } from "../support/stage.ts";

const cluster = openCluster();

beforeAll(() => installAttachmentKind(cluster));

it.for(["createMountpointPod", "createAttachment"])(
  "killed on its way to %s, the next one completes the pair",
  async (step) => {
    await using stage = await Stage.open(cluster);
    await using first = await ReconcilerProcess.start(stage);
    const claim = await stage.volume();
    const workload = await stage.workload("app", { claims: [claim] });
    await first.said(step);
    await first.kill();

    await using _ = await ReconcilerProcess.start(stage);

    const name = mountpointPodOf(workload, claim);
    await expect.poll(() => stage.served(), long).toEqual({ [name]: [workload.metadata.uid] });
    expect((await stage.mountpointPods()).map((pod) => [pod.metadata.name, isMarked(pod)])).toEqual([[name, false]]);
  },
);

it.for(["annotateForUnmount", "deleteAttachment", "deleteMountpointPod"])(
  "killed on its way to %s, the next one leaves nothing behind",
  async (step) => {
    await using stage = await Stage.open(cluster);
    await using first = await ReconcilerProcess.start(stage);
    const { workload, mountpointPod } = await stage.running("app", await stage.volume());
    await stage.deletePod(workload);
    if (step === "deleteMountpointPod") {
      await first.said("deleteAttachment");
      await stage.phase(mountpointPod, "Succeeded");
    }
    await first.said(step);
    await first.kill();

    // What was attached in the second in which it begins might be something that it has not heard of yet.
    await using _ = await ReconcilerProcess.start(stage, { flags: ["--stale-threshold-seconds=3"] });

    await expect.poll(() => stage.served(), long).toEqual({});
    expect((await stage.mountpointPods()).filter((pod) => !isMarked(pod))).toEqual([]);
    await expect
      .poll(async () => {
        await stage.playKubelet();
        return await stage.mountpointPods();
      }, long)
      .toEqual([]);
    expect(await stage.attachments()).toEqual([]);
  },
);

it("an API server that was killed and started again is followed on: what came and what went meanwhile is dealt with", async () => {
  await using stage = await Stage.open(cluster);
  await using reconciler = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const { workload, mountpointPod } = await stage.running("first", claim);
  const { lab } = cluster;
  const signal = AbortSignal.timeout(120_000);

  await lab.component("kube-apiserver").kill(signal);
  await lab.component("kube-apiserver").start(signal);
  await lab.untilApiAnswers(signal);
  const newcomer = await stage.workload("second", { claims: [await stage.volume()] });
  await stage.deletePod(workload);

  await expect.poll(async () => Object.values(await stage.served()), long).toEqual([[newcomer.metadata.uid]]);
  expect((await stage.mountpointPods()).filter(isMarked).map(({ metadata }) => metadata.name)).toEqual([
    mountpointPod.metadata.name,
  ]);
  expect(await reconciler.stop()).toBe(0);
});
