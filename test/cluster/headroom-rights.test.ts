/** With headroom turned on the controller may patch workloads: one label and one gate, and nothing else. */
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { headroom } from "../../src/core/names.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { kubeconfigCredentials } from "../../src/kube/client/credentials.ts";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import { ChartAccess } from "../support/chart-access.ts";
import { openCluster } from "../support/cluster.ts";
import { headroomFlags, isGated, isHeadroomPod, priorityClasses } from "../support/headroom.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { installAttachmentKind, long, Stage } from "../support/stage.ts";

const cluster = openCluster();
const other = "example.com/held";
const gates = [headroom.gate, other];

let stage: Stage;
let access: ChartAccess;
let controller: KubeClient;

beforeAll(async () => {
  await installAttachmentKind(cluster);
  stage = await Stage.open(cluster);
  access = await ChartAccess.apply(stage, { "mountpointPod.headroom.enabled": "true" });
  controller = new KubeClient(kubeconfigCredentials(await access.kubeconfigOf("controller")), { userAgent: "test" });
  // The API server learns of rights and policies in its own time: until both hold.
  const probe = await stage.workload("probe", { gates });
  let attempt = 0;
  await vi.waitFor(async () => {
    // Another one each time: what got through before is no change any more.
    attempt += 1;
    const answer = await refusalOf(probe, { metadata: { labels: { a: String(attempt) } } });
    if (!answer.includes("s3-csi-driver-headroom")) throw new Error(`not in force yet: ${answer}`);
  }, long);
});

afterAll(async () => {
  controller[Symbol.dispose]();
  await access[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

it("SE-2 with headroom on, the controller may mark a workload and remove its own gate", async () => {
  const app = await stage.workload("allowed", { gates });
  const mark = { metadata: { labels: { [headroom.workloadLabel]: app.metadata.uid } } };
  expect(await refusalOf(app, mark)).toBe("");
  expect(await refusalOf(app, { spec: { schedulingGates: [{ name: other }] } })).toBe("");
  const { metadata, spec } = (await stage.client.get(stage.call, kinds.pods, app.metadata)) as Pod;
  expect(metadata.labels).toEqual({ [headroom.workloadLabel]: metadata.uid });
  expect(spec.schedulingGates).toEqual([{ name: other }]);
});

it.for<{ change: string; patch: object | ((pod: Pod) => object) }>([
  { change: "remove another gate", patch: { spec: { schedulingGates: [{ name: headroom.gate }] } } },
  { change: "remove every gate", patch: { spec: { schedulingGates: null } } },
  { change: "add a label", patch: { metadata: { labels: { app: "x" } } } },
  { change: "change a label", patch: { metadata: { labels: { team: "x" } } } },
  { change: "remove a label", patch: { metadata: { labels: { team: null } } } },
  { change: "mark it as another", patch: { metadata: { labels: { [headroom.workloadLabel]: "another" } } } },
  { change: "add an annotation", patch: { metadata: { annotations: { a: "b" } } } },
  { change: "add a finalizer", patch: { metadata: { finalizers: ["example.com/stay"] } } },
  { change: "change the image", patch: withImage },
  { change: "choose the node", patch: { spec: { nodeSelector: { evil: "true" } } } },
  { change: "limit its life", patch: { spec: { activeDeadlineSeconds: 1 } } },
  { change: "add an owner", patch: { metadata: { ownerReferences: [owner()] } } },
])("SE-2 with headroom on, the controller may not $change", async ({ change, patch }) => {
  const app = await stage.workload(`refused-${change.replaceAll(" ", "-")}`, { gates });
  await stage.client.patch(stage.call, kinds.pods, app.metadata, { metadata: { labels: { team: "storage" } } });
  expect(await refusalOf(app, typeof patch === "function" ? patch(app) : patch)).toContain("s3-csi-driver-headroom");
});

it("SE-2 with headroom on, the controller may patch Pods everywhere, and still not create or delete them", async () => {
  expect(await access.can("controller", "patch", "pods", "default")).toBe("yes");
  expect(await access.can("controller", "create", "pods", "default")).toBe("no");
  expect(await access.can("controller", "delete", "pods", "default")).toBe("no");
  expect(await access.can("controller", "patch", "pods/status", "default")).toBe("no");
  expect(await access.can("controller", "update", "pods", "default")).toBe("no");
});

it("the reconciler reserves headroom and gives it back with the rights of its account", async () => {
  await using classes = await priorityClasses(stage);
  const kubeconfig = await access.kubeconfigOf("controller");
  await using reconciler = await ReconcilerProcess.start(stage, { kubeconfig, flags: headroomFlags(classes) });
  const app = await stage.workload("app", { claims: [await stage.volume()], gates: [headroom.gate] });
  const reserved = async () => (await stage.mountpointPods()).filter(isHeadroomPod);
  await expect.poll(reserved, long).toHaveLength(1);
  const gated = async () => isGated((await stage.client.get(stage.call, kinds.pods, app.metadata)) as Pod);
  await expect.poll(gated, long).toBe(false);
  await stage.deletePod(app);
  await expect.poll(reserved, long).toEqual([]);
  expect(reconciler.log).not.toMatch(/forbidden/i);
});

/** What the API server says to the controller; empty when it does as told. */
async function refusalOf({ metadata }: Pod, patch: object): Promise<string> {
  try {
    await controller.patch(stage.call, kinds.pods, metadata, patch);
    return "";
  } catch (error) {
    return String(error);
  }
}

/** A list is replaced as a whole: all else of the container stays as the API server gave it. */
function withImage({ spec }: Pod): object {
  const [container] = (spec as unknown as { containers: readonly object[] }).containers;
  return { spec: { containers: [{ ...container, image: "evil" }] } };
}

function owner(): object {
  return { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "a4509011-bd2a-4f37-b1b0-05d715087852" };
}
