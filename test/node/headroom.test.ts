/** Headroom on a real node with the real scheduler and kubelet. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { checkout } from "../../lab/images.ts";
import { headroom } from "../../src/core/names.ts";
import { parseQuantity } from "../../src/core/volume/quantity.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import { openCluster, type PodRef, podManifest, type Sandbox } from "../support/cluster.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 300 };

beforeAll(() => setHeadroom(true));
afterAll(() => setHeadroom(false));

it("LC-19 on a node that is full to the last slot a gated workload mounts, and its headroom Pod is gone afterwards", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume({ attributes: { mountpointContainerResourcesRequestsCpu: `${slotMillis}m` } });
  // The last slot is for the workload; what else could give way is of low priority.
  await fill(sandbox, (await freeMillis()) - 2 * slotMillis);
  const low = await asking(sandbox, "low", slotMillis, { priorityClassName: "mount-s3-headroom" });
  await cluster.untilReady(low);
  const gates = [{ name: headroom.gate }];
  const workload = await asking(sandbox, "gated", slotMillis, { claim, schedulingGates: gates });

  await cluster.untilReady(workload);
  await cluster.exec(workload, "echo hello > /data/file.txt");
  expect(await cluster.exec(workload, "cat /data/file.txt")).toBe("hello\n");
  const [mountpointPod] = await cluster.list<Pod>(
    "pods",
    "-n",
    "mount-s3",
    "-l",
    `s3.csi.scality.com/volume-name=${claim}`,
  );
  expect(mountpointPod?.spec.priorityClassName).toBe("mount-s3-preempting");
  expect((await freeMillis()) < slotMillis).toBe(true);
  await expect.poll(() => headroomPods(claim), long).toEqual([]);
  const app = await cluster.get<Pod>("pod", workload.name, "-n", workload.namespace);
  expect(app?.metadata.labels).toMatchObject({ [headroom.workloadLabel]: app?.metadata.uid });
  const pushedOff = await cluster.get<Pod>("pod", low.name, "-n", low.namespace);
  expect(pushedOff?.status?.phase ?? "gone").not.toBe("Running");
});

/** What the workload and its Mountpoint Pod ask for. */
const slotMillis = 100;

/** As an operator does it, and as it was. */
async function setHeadroom(enabled: boolean): Promise<void> {
  const { lab } = cluster;
  const chart = join(checkout, "charts/scality-mountpoint-s3-csi-driver");
  const helm = [join(lab.programs.kubernetes, "helm"), `--kubeconfig=${lab.layout.kubeconfig}`];
  const upgrade = ["upgrade", "s3-csi", chart, "-n", "kube-system", "--reuse-values"];
  const [program = "", ...args] = lab.inNetwork([
    ...helm,
    ...upgrade,
    "--set",
    `mountpointPod.headroom.enabled=${enabled}`,
  ]);
  await promisify(execFile)(program, args);
  await cluster.kubectl("rollout", "status", "-n", "kube-system", "deployment/s3-csi-controller", "--timeout=240s");
}

async function headroomPods(claim: string): Promise<readonly Pod[]> {
  return cluster.list<Pod>("pods", "-n", "mount-s3", "-l", `${headroom.volumeLabel}=${claim}`);
}

/** CPU of the node that no Pod has asked for. */
async function freeMillis(): Promise<number> {
  const nodeObject = await cluster.get<{ status: { allocatable: { cpu: string } } }>("node", node);
  const pods = await cluster.list<RequestingPod>("pods", "-A", "--field-selector", `spec.nodeName=${node}`);
  const running = pods.filter(({ status }) => status.phase !== "Succeeded" && status.phase !== "Failed");
  const asked = running.flatMap(({ spec }) => spec.containers.map((one) => millis(one.resources.requests?.cpu)));
  return asked.reduce((left, cpu) => left - cpu, millis(nodeObject?.status.allocatable.cpu));
}

interface RequestingPod {
  readonly spec: { readonly containers: readonly { readonly resources: { readonly requests?: { cpu?: string } } }[] };
  readonly status: { readonly phase: string };
}

function millis(cpu = "0"): number {
  return Math.round((parseQuantity(cpu) ?? 0) * 1000);
}

async function fill(sandbox: Sandbox, cpuMillis: number): Promise<void> {
  const filler = await asking(sandbox, "filler", cpuMillis);
  await cluster.untilReady(filler);
}

interface More {
  readonly claim?: string;
  readonly schedulingGates?: readonly object[];
  readonly priorityClassName?: string;
}

async function asking(
  { name: namespace }: Sandbox,
  name: string,
  cpuMillis: number,
  { claim, ...more }: More = {},
): Promise<PodRef> {
  const ref = { namespace, name };
  const wish = { node, ...(claim !== undefined && { claim }) };
  const { spec, ...rest } = podManifest(ref, wish) as { spec: { containers: readonly object[] } };
  const resources = { requests: { cpu: `${cpuMillis}m` } };
  const containers = spec.containers.map((container) => ({ ...container, resources }));
  await cluster.apply({ ...rest, spec: { ...spec, ...more, containers } });
  return ref;
}
