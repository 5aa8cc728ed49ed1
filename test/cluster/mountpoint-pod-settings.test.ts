/** What an operator and a volume ask of Mountpoint Pods, as the API server has it in the end. */
import { beforeAll, expect, it } from "vitest";
import { openCluster } from "../support/cluster.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { installAttachmentKind, long, mountpointPodOf, Stage } from "../support/stage.ts";

const cluster = openCluster();

beforeAll(() => installAttachmentKind(cluster));

it("the settings of the chart are on every Mountpoint Pod", async () => {
  await using stage = await Stage.open(cluster);
  const tolerations = [{ key: "dedicated", operator: "Equal", value: "s3", effect: "NoSchedule" }];
  const flags = [
    "--mountpoint-priority-class-name=system-node-critical",
    `--mountpoint-tolerations=${JSON.stringify(tolerations)}`,
    "--mountpoint-image-pull-secrets=first,second",
    `--mountpoint-resources=${JSON.stringify({ requests: { cpu: "20m", memory: "48Mi" }, limits: { memory: "600Mi" } })}`,
    `--mountpoint-labels=${JSON.stringify({ team: "storage" })}`,
    `--mountpoint-annotations=${JSON.stringify({ "example.com/note": "kept" })}`,
  ];
  await using _ = await ReconcilerProcess.start(stage, { flags });
  const { mountpointPod } = await stage.running("app", await stage.volume());
  expect(mountpointPod).toMatchObject({
    metadata: { labels: { team: "storage" }, annotations: { "example.com/note": "kept" } },
    spec: {
      priorityClassName: "system-node-critical",
      priority: 2_000_001_000,
      tolerations: expect.arrayContaining(tolerations),
      imagePullSecrets: [{ name: "first" }, { name: "second" }],
      containers: [{ resources: { requests: { cpu: "20m", memory: "48Mi" }, limits: { memory: "600Mi" } } }],
    },
  });
});

it("a volume's Mountpoint Pod runs under the account that it names; a missing one is told, and served once it is there", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume({ attributes: { mountpointPodServiceAccountName: "reader" } });
  const app = await stage.workload("app", { claims: [claim] });
  await expect.poll(() => stage.events(app), long).toMatchObject([{ type: "Warning", reason: "MountpointPodRefused" }]);
  expect((await stage.events(app))[0]?.message).toContain(`serviceaccount "reader" not found`);

  await cluster.kubectl("create", "serviceaccount", "reader", "-n", stage.mountpointNamespace);
  const name = mountpointPodOf(app, claim);
  await expect.poll(() => stage.served(), long).toEqual({ [name]: [app.metadata.uid] });
  expect((await stage.mountpointPod(name))?.spec).toMatchObject({ serviceAccountName: "reader" });
});
