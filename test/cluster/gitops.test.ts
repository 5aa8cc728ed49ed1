/** The chart under tools that only render it: `lookup` finds nothing, and what is no longer rendered is pruned. */
import { randomBytes } from "node:crypto";
import { beforeAll, expect, it } from "vitest";
import { goldenDirectory, goldenSets, type Manifest, render, template } from "../chart/rendered-chart.ts";
import { openCluster } from "../support/cluster.ts";
import { prune, pruningTools } from "../support/prune.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { installAttachmentKind, long, Stage } from "../support/stage.ts";

const cluster = openCluster();
const ownerless = { "mountpointPod.createNamespace": "false", "mountpointPod.createPriorityClasses": "false" };

beforeAll(() => installAttachmentKind(cluster));

it.for(goldenSets)("PF-1 the values %s are rendered twice to the same text", (name) => {
  const values = ["--values", `${goldenDirectory}/${name}.values.yaml`];
  expect(template(values)).toBe(template(values));
});

it.for(pruningTools)(
  "PF-1 %s prunes neither namespace nor priority classes when values turn them off",
  async (tool) => {
    await using chart = await applied();
    const after = render({ ...chart.values, ...ownerless });
    const left = await prune(cluster, tool, [chart.objects, after]);
    expect(left.toSorted()).toEqual(chart.kept.toSorted());
    expect((await cluster.get("namespace", chart.namespace))?.metadata.deletionTimestamp).toBeUndefined();
  },
);

it.for(pruningTools)("PF-1 %s prunes neither namespace nor priority classes when their names change", async (tool) => {
  await using chart = await applied();
  const left = await prune(cluster, tool, [chart.objects, render(valuesFor(`${chart.namespace}-2`))]);
  expect(left).toEqual(expect.arrayContaining([...chart.kept]));
  expect((await cluster.get("namespace", chart.namespace))?.metadata.deletionTimestamp).toBeUndefined();
});

it("PF-1 a tool that knows no annotation is refused by the API server, which says what to do", async () => {
  await using chart = await applied();
  const { namespace } = chart;
  await expect(cluster.kubectl("delete", "namespace", namespace)).rejects.toThrow(
    `allow the deletion with kubectl annotate namespace ${namespace} s3.csi.scality.com/allow-deletion=true`,
  );
  expect((await cluster.get("namespace", namespace))?.metadata.deletionTimestamp).toBeUndefined();
  await cluster.kubectl("annotate", "namespace", namespace, "s3.csi.scality.com/allow-deletion=true");
  await cluster.kubectl("delete", "namespace", namespace, "--wait=false");
});

it("PF-1 the reconciler refuses another namespace while Mountpoint Pods run in the old one, and changes nothing", async () => {
  await using stage = await Stage.open(cluster);
  const { mountpointPod } = await (async () => {
    await using _reconciler = await ReconcilerProcess.start(stage);
    return await stage.running("app", await stage.volume());
  })();
  const before = await stage.attachments();
  await expect(ReconcilerProcess.start(stage, { flags: [`--mountpoint-namespace=${stage.name}`] })).rejects.toThrow(
    `cannot change from ${stage.mountpointNamespace} to ${stage.name} while ` +
      `${stage.mountpointNamespace}/${mountpointPod.metadata.name} serves workloads`,
  );
  expect(await stage.attachments()).toEqual(before);
});

interface Applied extends AsyncDisposable {
  readonly namespace: string;
  readonly values: Readonly<Record<string, string>>;
  readonly objects: readonly Manifest[];
  /** What has to stay, as KIND NAME. */
  readonly kept: readonly string[];
}

/** Namespace, priority classes and the policy that guards the namespace; nothing else of the chart. */
async function applied(): Promise<Applied> {
  const namespace = `t-${randomBytes(4).toString("hex")}`;
  const values = valuesFor(namespace);
  const owned = render(values).filter(({ kind }) => ["Namespace", "PriorityClass"].includes(kind));
  const policy = render(values).filter(({ metadata }) => metadata.name.endsWith("s3-csi-mountpoint-namespace"));
  await cluster.apply(...owned, ...policy);
  // The API server takes up policies in its own time.
  const trial = ["delete", "namespace", namespace, "--dry-run=server"];
  await expect.poll(() => cluster.kubectl(...trial).catch(String), long).toContain("allow-deletion");
  return {
    namespace,
    values,
    objects: owned,
    kept: owned.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
    [Symbol.asyncDispose]: async () => {
      const allowed = ["annotate", "namespace", namespace, "s3.csi.scality.com/allow-deletion=true", "--overwrite"];
      // The test may have deleted it.
      await cluster.kubectl(...allowed).catch(() => undefined);
      for (const { kind, metadata } of [...owned, ...policy])
        await cluster.kubectl("delete", kind, metadata.name, "--ignore-not-found", "--wait=false");
    },
  };
}

function valuesFor(namespace: string): Readonly<Record<string, string>> {
  return {
    "mountpointPod.namespace": namespace,
    "mountpointPod.priorityClassName": `${namespace}-critical`,
    "mountpointPod.preemptingPriorityClassName": `${namespace}-preempting`,
    "mountpointPod.headroomPriorityClassName": `${namespace}-headroom`,
  };
}
