/** Former settings are replaced on every node, a few Mountpoint Pods at a time. The nodes exist on paper only. */
import { beforeAll, expect, it } from "vitest";
import { annotations } from "../../src/core/names.ts";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import { openCluster } from "../support/cluster.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { ifItIsThere, installAttachmentKind, isMarked, long, Stage } from "../support/stage.ts";

const cluster = openCluster();
const image = "--mountpoint-image=driver:2";

beforeAll(() => installAttachmentKind(cluster));

it("LC-21 a rollout moves every workload to a Mountpoint Pod with the settings of now, one on each node at a time", async () => {
  await using stage = await Stage.open(cluster);
  const former = await servedByFormer(stage, [stage.node, stage.node, stage.otherNode]);
  const controller = await stage.workload("controller");
  await using _ = await rolling(stage, controller);

  await expect.poll(() => requested(stage), long).toHaveLength(2);
  expect((await requested(stage)).map((pod) => String(nodeOf(pod))).toSorted()).toEqual([stage.node, stage.otherNode]);
  await expect
    .poll(async () => {
      await playNodes(stage);
      const serving = Object.entries(await stage.served()).flatMap(([name, served]) => (served.length > 0 ? name : []));
      const asked = (await requested(stage)).filter(({ metadata }) => serving.includes(metadata.name));
      expect(new Set(asked.map(nodeOf)).size).toBe(asked.length);
      return serving.length === 3 && serving.every((name) => !former.includes(name));
    }, long)
    .toBe(true);
  const eventsWhilePlaying = async () => {
    await playNodes(stage);
    return await eventsOf(stage, controller);
  };
  await expect.poll(eventsWhilePlaying, long).toEqual(["RolloutProgressing", "RolloutCompleted"]);
  await expect
    .poll(async () => {
      await playNodes(stage);
      return await rolloutStates(stage);
    }, long)
    .toEqual(["undefined", "undefined", "undefined"]);
});

it("LC-21 a rollout waits for its window, pauses after a failure, and goes on when that is tried again", async () => {
  await using stage = await Stage.open(cluster);
  const former = await servedByFormer(stage, [stage.node, stage.node]);
  const controller = await stage.workload("controller");
  {
    const hour = (new Date().getUTCHours() + 12) % 24;
    const window = { start: `${String(hour).padStart(2, "0")}:00`, end: `${String(hour).padStart(2, "0")}:01` };
    await using _closed = await rolling(stage, controller, `--mountpoint-rollout-window=${JSON.stringify(window)}`);
    await expect.poll(() => eventsOf(stage, controller), long).toEqual(["RolloutWaiting"]);
    expect(await requested(stage)).toEqual([]);
  }
  {
    await using _rolling = await rolling(stage, controller);
    await expect.poll(() => requested(stage), long).toHaveLength(1);
    const successor = await untilSuccessor(stage, former);
    await stage.phase(successor, "Running", crashed);
    await expect.poll(() => eventsOf(stage, controller), long).toContain("RolloutPaused");
    await expect.poll(() => mountpointPodNames(stage), long).toEqual(former);
    expect(await requested(stage)).toHaveLength(1);
    await expect.poll(() => rolloutStates(stage), long).toEqual(["failed", "outdated"]);
  }
  await using _again = await rolling(stage, controller, "--mountpoint-rollout-retry=2");
  await expect
    .poll(async () => (await requested(stage)).map(({ metadata }) => metadata.annotations?.[annotations.move]), long)
    .toContainEqual(expect.stringMatching(/^rollout-[0-9a-f]{12}-2$/));
  await untilSuccessor(stage, former);
});

it("LC-21 a rollout at whose end a mount could not be moved says so", async () => {
  await using stage = await Stage.open(cluster);
  const former = await servedByFormer(stage, [stage.node]);
  const controller = await stage.workload("controller");
  await using _ = await rolling(stage, controller);
  const successor = await untilSuccessor(stage, former);
  await stage.phase(successor, "Running", crashed);
  await expect.poll(() => eventsOf(stage, controller), long).toEqual(["RolloutProgressing", "RolloutIncomplete"]);
  await expect.poll(() => rolloutStates(stage), long).toContain("failed");
});

/** A reconciler of an earlier installation has created them, and has ended. */
async function servedByFormer(stage: Stage, nodes: readonly string[]): Promise<readonly string[]> {
  await using _ = await ReconcilerProcess.start(stage);
  const names: string[] = [];
  for (const [index, node] of nodes.entries()) {
    const { mountpointPod } = await stage.running(`app-${index}`, await stage.volume(), { node });
    names.push(mountpointPod.metadata.name);
  }
  await playNodes(stage);
  return names.toSorted();
}

/** The node controller takes a node without kubelet for lost after a while. */
async function rolling(stage: Stage, { metadata }: Pod, ...flags: readonly string[]): Promise<ReconcilerProcess> {
  await readyNodes(stage);
  const own = [`--pod-name=controller`, `--pod-namespace=${stage.name}`, `--pod-uid=${metadata.uid}`];
  return await ReconcilerProcess.start(stage, {
    flags: [image, "--mountpoint-rollout-strategy=rolling", ...own, ...flags],
  });
}

async function readyNodes(stage: Stage): Promise<void> {
  const conditions = [{ type: "Ready", status: "True", reason: "KubeletReady", message: "" }];
  for (const node of [stage.node, stage.otherNode]) {
    await stage.patch(`/api/v1/nodes/${node}/status`, { status: { conditions } });
  }
}

/** What kubelet and the node plugin would do. */
async function playNodes(stage: Stage): Promise<void> {
  await readyNodes(stage);
  await stage.playKubelet();
  const marked = new Set((await stage.mountpointPods()).filter(isMarked).map(({ metadata }) => metadata.name));
  for (const { metadata, spec } of await stage.attachments()) {
    const reports = Object.keys(spec.mountpointS3PodAttachments).map((name) => [
      name,
      marked.has(name) ? { health: "absent", inUse: false } : { health: "serving" },
    ]);
    const said = { manager: "s3-csi-node", status: { mountpointPods: Object.fromEntries(reports) } };
    await ifItIsThere(stage.client.applyStatus(stage.call, kinds.attachments, metadata, said).then(() => undefined));
  }
}

const crashed = {
  containerStatuses: [
    {
      ...{ name: "mountpoint", restartCount: 0, ready: false, image: "driver:2", imageID: "" },
      state: { terminated: { exitCode: 1, reason: "Error" } },
    },
  ],
};

async function requested(stage: Stage): Promise<readonly Pod[]> {
  return (await stage.mountpointPods()).filter(
    ({ metadata }) => metadata.annotations?.[annotations.move] !== undefined,
  );
}

async function untilSuccessor(stage: Stage, former: readonly string[]): Promise<Pod> {
  const found: Pod[] = [];
  await expect
    .poll(async () => {
      const all = await stage.mountpointPods();
      return found.push(...all.filter(({ metadata }) => !former.includes(metadata.name)));
    }, long)
    .toBeGreaterThan(0);
  return found[0] as Pod;
}

async function mountpointPodNames(stage: Stage): Promise<readonly string[]> {
  await stage.playKubelet();
  return (await stage.mountpointPods()).map(({ metadata }) => metadata.name).toSorted();
}

async function rolloutStates(stage: Stage): Promise<readonly string[]> {
  const pods = (await stage.attachments()).flatMap(({ status }) => Object.values(status?.mountpointPods ?? {}));
  return pods.map(({ rollout }) => String(rollout)).toSorted();
}

function nodeOf({ spec }: Pod): string | undefined {
  const { affinity } = spec as { affinity?: { nodeAffinity?: NodeAffinity } };
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms;
  return terms?.[0]?.matchFields[0]?.values[0];
}

interface NodeAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution: {
    readonly nodeSelectorTerms: readonly { readonly matchFields: readonly { readonly values: readonly string[] }[] }[];
  };
}

/** In the order in which they were written first. */
async function eventsOf(stage: Stage, pod: Pod): Promise<readonly string[]> {
  const all = (await stage.events(pod)).filter(({ reason }) => reason.startsWith("Rollout"));
  const at = ({ metadata }: (typeof all)[number]) => Date.parse(metadata.creationTimestamp);
  return [...new Set(all.toSorted((a, b) => at(a) - at(b)).map(({ reason }) => reason))];
}
