/** The authority of a real API server is exchanged under a running program. */
import { beforeAll, expect, it } from "vitest";
import { openCluster } from "../support/cluster.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { SecondApiServer } from "../support/second-api-server.ts";
import { installAttachmentKind, long, mountpointPodOf, Stage } from "../support/stage.ts";

const cluster = openCluster();

beforeAll(() => installAttachmentKind(cluster));

it("SC-8 the cluster's authority is rotated: the running program trusts the new one as soon as its file has it, and not before", {
  timeout: 300_000,
}, async () => {
  await using stage = await Stage.open(cluster);
  await using server = await SecondApiServer.start(cluster.lab);
  const { kubeconfig } = server;
  const flags = ["--health-port=0"];
  await using reconciler = await ReconcilerProcess.start(stage, { kubeconfig, flags });
  const claim = await stage.volume();
  const { workload, mountpointPod } = await stage.running("before", claim);

  const trust = await server.rotate();
  await reconciler.said("certificate");
  trust();

  const newcomer = await stage.workload("after", { claims: [claim], fsGroup: 2000 });
  await expect
    .poll(() => stage.served(), long)
    .toEqual({
      [mountpointPod.metadata.name]: [workload.metadata.uid],
      [mountpointPodOf(newcomer, claim)]: [newcomer.metadata.uid],
    });
  await expect.poll(() => reconciler.probe("healthz"), long).toBe("200 ok");
});
