/** Moves where the kernel cannot put a mount beneath another one: refused, or with a gap where the operator allows it. */
import { expect, it } from "vitest";
import { openCluster, podManifest } from "../support/cluster.ts";
import { Injection } from "../support/faults.ts";
import { eventsIn, identityOf, long, untilWorking } from "../support/healing.ts";
import { installedWith } from "../support/installed-with.ts";
import { mountS3Of } from "../support/mount-s3-process.ts";
import { finishOpenFiles, holders, phaseOf, requestMove, strictPod } from "../support/moving.ts";
import { pluginProcess, pluginsOnOldKernel } from "../support/node-plugin.ts";

const cluster = openCluster();
const node = "worker-1";

it("LC-24 on a kernel before 6.5 a move is refused, and the event names the value that allows it", async () => {
  await using _old = await pluginsOnOldKernel(cluster);
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = { namespace: sandbox.name, name: "stays" };
  await cluster.apply(podManifest(pod, { node, claim }));
  await cluster.untilReady(pod);
  const { name: former } = await mountS3Of(cluster, node, claim);
  await requestMove(cluster, former, "1");
  await expect
    .poll(() => eventsIn(cluster, sandbox.name), long)
    .toMatch(/VolumeNotMoved: .*older than 6\.5.*node\.movesWithGap/);
  expect(await holders(cluster, claim)).toEqual([former]);
  await cluster.exec(pod, "echo x > /data/x");
});

it("LC-21 on a kernel before 6.5 workloads move with a gap where that is allowed, and a container that loses its mount is named", async () => {
  await using _allowed = await installedWith(cluster, ["node.movesWithGap=true"]);
  await using _old = await pluginsOnOldKernel(cluster);
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await strictPod(sandbox, { claim, node });
  await untilWorking(cluster, pod);
  const { name: former } = await mountS3Of(cluster, node, claim);
  const before = await identityOf(cluster, pod);
  await requestMove(cluster, former, "1");
  await expect.poll(() => eventsIn(cluster, sandbox.name), long).toMatch(/VolumeMoved: .*without it for a moment/);
  await finishOpenFiles(cluster, pod, sandbox.bucket);
  await expect.poll(() => phaseOf(cluster, former), long).toBe("gone");
  await untilWorking(cluster, pod);
  expect(await identityOf(cluster, pod)).toEqual(before);

  const [second = ""] = await holders(cluster, claim);
  {
    const plugin = await pluginProcess(cluster, node);
    await using _fault = await Injection.into(plugin, { syscall: "move_mount", effect: "error=EINVAL", when: "1" });
    await requestMove(cluster, second, "2");
    await expect
      .poll(() => eventsIn(cluster, sandbox.name), long)
      .toMatch(/VolumeNotMoved: .*a container has lost it at \/.*Restart the Pod/);
  }
  await expect.poll(() => holders(cluster, claim), long).not.toContain(second);
  await expect.poll(() => phaseOf(cluster, second), long).toBe("gone");
});
