/** What the node says about its mounts in the attachment, for whoever asks `kubectl describe s3pa`. */
import { expect, it } from "vitest";
import type { AttachmentStatus } from "../../src/core/attachment-status.ts";
import { openCluster } from "../support/cluster.ts";
import { controllerAway } from "../support/controller-away.ts";
import { attachmentsOf, mountS3Of, stopped } from "../support/mount-s3-process.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 500 };

it("OP-5 the status tells whether a volume is mounted, whether mount-s3 answers, and when it died", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  const mountS3 = await mountS3Of(cluster, node, claim);
  const said = async () => summary((await attachmentsOf(cluster, claim))[0]?.status, mountS3.name);
  await expect.poll(said, long).toEqual({ mounted: "True Mounted", healthy: "True Serving", health: "serving" });
  {
    await using _hung = await stopped(cluster, node, mountS3);
    await expect.poll(said, long).toEqual({ mounted: "True Mounted", healthy: "False Hung", health: "hung" });
  }
  await expect.poll(said, long).toMatchObject({ healthy: "True Serving" });

  const killedAt = new Date().toISOString().slice(0, 19);
  {
    // Dead for as long as nobody gives the workload another one: where healing can begin, that is over in a moment.
    await using _notReplaced = await controllerAway(cluster);
    await cluster.kubectl("delete", "pod", mountS3.name, "-n", "mount-s3", "--grace-period=0", "--force");
    await expect.poll(said, long).toMatchObject({ healthy: "False Dead", health: "dead" });
    expect(((await said()).lastDeath ?? "") >= killedAt).toBe(true);
  }
  await expect.poll(said, long).toMatchObject({ healthy: "True Serving" });
});

interface Summary {
  readonly mounted: string;
  readonly healthy: string;
  readonly health?: string;
  readonly lastDeath?: string;
}

function summary(status: AttachmentStatus | undefined, mountpointPod: string): Summary {
  const condition = (type: string) => {
    const found = status?.conditions?.find((one) => one.type === type);
    return `${found?.status} ${found?.reason}`;
  };
  const { health, lastDeath } = status?.mountpointPods?.[mountpointPod] ?? {};
  return {
    mounted: condition("Mounted"),
    healthy: condition("Healthy"),
    ...(health === undefined ? {} : { health }),
    ...(lastDeath === undefined ? {} : { lastDeath }),
  };
}
