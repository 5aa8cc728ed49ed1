/** A Mountpoint Pod whose image cannot be pulled, in the words of a real kubelet. */
import { expect, it } from "vitest";
import type { Pod } from "../../src/kube/kinds.ts";
import { openCluster } from "../support/cluster.ts";
import { controllerAway } from "../support/controller-away.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { mountpointPodOf, Stage } from "../support/stage.ts";

const cluster = openCluster();
const long = { timeout: 240_000, interval: 200 };

it("LC-20 an image that a real kubelet cannot pull is told on the workload, once for its two words for it", async () => {
  // The controller ends what the workloads of others have left; until then this reconciler refuses its own namespace.
  await expect.poll(() => cluster.list("s3pa"), long).toEqual([]);
  await using _away = await controllerAway(cluster);
  await using stage = await Stage.open(cluster);
  const flags = ["--mountpoint-image=registry.invalid/driver:none"];
  await using _ = await ReconcilerProcess.start(stage, { flags });
  const claim = await stage.volume();
  const app = await stage.workload("app", { claims: [claim], node: "worker-1" });
  const name = mountpointPodOf(app, claim);
  const told = async () =>
    (await stage.events(app))
      .filter(({ reason }) => reason === "MountpointPodNotStarting")
      .map(({ message }) => message);

  // With the third, the first two have been dealt with.
  const words: string[] = [];
  const noteWord = async () => {
    const word = waitingFor(await stage.mountpointPod(name));
    if (word !== undefined && word !== words.at(-1)) words.push(word);
    return words.length;
  };
  await expect.poll(noteWord, long).toBe(3);
  expect(new Set(words)).toEqual(new Set(["ErrImagePull", "ImagePullBackOff"]));

  const cause =
    /does not start: its image cannot be pulled: .*registry\.invalid.*\. Check the chart's image\.repository/;
  expect(await told()).toEqual([expect.stringMatching(cause)]);
  const [attachment] = await stage.attachments();
  expect(attachment?.status?.mountpointPods?.[name]?.reason).toMatch(cause);

  await stage.deletePod(app);
  const left = async () => [...(await stage.attachments()), ...(await stage.mountpointPods())];
  await expect.poll(left, long).toEqual([]);
});

/** Why its container waits, if it says more than that it is being made. */
function waitingFor(pod: Pod | undefined): string | undefined {
  const reason = pod?.status?.containerStatuses?.[0]?.state?.waiting?.reason;
  return reason === "ContainerCreating" ? undefined : reason;
}
