/** The reconciler against a real API server and scheduler: what it says about an attachment, and to the owner of a workload. */
import { beforeAll, expect, it } from "vitest";
import { auditedRequests } from "../../lab/audit.ts";
import { type AttachmentStatus, statusManagers } from "../../src/core/attachment-status.ts";
import { annotations, mountpointContainer } from "../../src/core/names.ts";
import { kinds, type MountpointS3PodAttachment, type Pod } from "../../src/kube/kinds.ts";
import { openCluster } from "../support/cluster.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { restrictedAccount } from "../support/restricted-account.ts";
import { installAttachmentKind, long, mountpointPodOf, Stage } from "../support/stage.ts";

const cluster = openCluster();

beforeAll(() => installAttachmentKind(cluster));

async function statusOf(stage: Stage): Promise<AttachmentStatus | undefined> {
  return (await stage.attachments())[0]?.status;
}

const conditionOf = async (stage: Stage, wanted: string) =>
  (await statusOf(stage))?.conditions?.find(({ type }) => type === wanted);

async function describe(stage: Stage): Promise<string> {
  const [attachment] = await stage.attachments();
  return await cluster.kubectl("describe", "s3pa", attachment?.metadata.name ?? "");
}

it("OP-5 the status tells version, phase and restarts of each Mountpoint Pod, and that all are assigned and scheduled", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const { mountpointPod } = await stage.running("app", claim);
  const { name } = mountpointPod.metadata;

  await expect.poll(async () => (await statusOf(stage))?.mountpointPods?.[name]?.phase, long).toBe("Running");
  expect(await statusOf(stage)).toMatchObject({
    conditions: [
      { type: "Assigned", status: "True", reason: "Assigned" },
      { type: "Scheduled", status: "True", reason: "Scheduled" },
    ],
    mountpointPods: { [name]: { phase: "Running", restarts: 0, version: expect.stringMatching(/^3\./) } },
  });

  await stage.phase(mountpointPod, "Running", container(2, { running: {} }));
  await expect.poll(async () => (await statusOf(stage))?.mountpointPods?.[name]?.restarts, long).toBe(2);
  expect((await statusOf(stage))?.mountpointPods?.[name]?.reason).toBeUndefined();
});

it.for<{ state: string; make: (stage: Stage, pod: Pod) => Promise<void>; told: readonly RegExp[] }>([
  {
    state: "crashes",
    make: (stage, pod) => stage.phase(pod, "Running", container(0, crashed("OOMKilled", 137))),
    told: [/is down until it is started again \(OOMKilled, exit code 137\)/, /LimitsMemory/],
  },
  {
    state: "has an image that cannot be pulled",
    make: (stage, pod) => stage.phase(pod, "Pending", container(0, { waiting: imageMissing })),
    told: [/its image cannot be pulled: manifest unknown/, /image\.repository/],
  },
  {
    state: "is being deleted",
    make: (stage, pod) => stage.deletePod(pod, 600),
    told: [/is being deleted/],
  },
])("OP-5 kubectl describe s3pa explains a Mountpoint Pod that $state", async ({ make, told }) => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  // Its workload is on its way out, too: so nothing is replaced, and the state stays.
  const { workload, mountpointPod } = await stage.running("app", await stage.volume(), {
    terminationGracePeriodSeconds: 600,
  });
  await stage.deletePod(workload, 600);
  await make(stage, mountpointPod);
  for (const text of told) await expect.poll(() => describe(stage), long).toMatch(text);
});

it("OP-5 kubectl describe s3pa explains a Mountpoint Pod that has ended and cannot be replaced", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const { mountpointPod } = await stage.running("app", claim);
  // The volume is refused from now on, so there is nothing to make a successor of.
  const options = { spec: { mountOptions: ["--"] } };
  await stage.client.patch(stage.call, kinds.persistentVolumes, { name: claim }, options);
  // Pods have a watch of their own, which may be faster: the refusal of another workload tells that the reconciler knows the change.
  const late = await stage.workload("late", { claims: [claim] });
  const told = async () => (await stage.events(late)).map(({ message }) => message).join();
  await expect.poll(told, long).toContain('mount option "--"');
  await stage.phase(mountpointPod, "Failed", { reason: "Evicted", message: "The node was low on resource: memory." });

  await expect
    .poll(() => conditionOf(stage, "Assigned"), long)
    .toMatchObject({
      status: "False",
      reason: "MountpointPodIrreplaceable",
      message: expect.stringMatching(/has ended \(Evicted: The node was low.*cannot be replaced.*mount option "--"/),
    });
  expect((await statusOf(stage))?.mountpointPods).toMatchObject({ [mountpointPod.metadata.name]: { phase: "Failed" } });
});

it("OP-5 it is written once for each change, by server-side apply, and what the node says stays", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const { mountpointPod } = await stage.running("app", await stage.volume());
  const { mountpointPod: other } = await stage.running("other", await stage.volume());
  const { name } = mountpointPod.metadata;
  const now = () => attachmentOf(stage, mountpointPod);
  await expect.poll(async () => (await now())?.status?.mountpointPods?.[name]?.phase, long).toBe("Running");
  const attachment = (await now()) as MountpointS3PodAttachment;
  const said = { manager: "s3-csi-node", status: { mountpointPods: { [name]: { health: "serving" } } } };
  const { metadata } = await stage.client.applyStatus(stage.call, kinds.attachments, attachment.metadata, said);

  // What changes nothing of importance is looked at and leads to no write: the next one is that of the restart.
  await untilTold(stage, other, 1);
  const writtenBefore = writesOf(metadata.name);
  const note = { metadata: { annotations: { "example.com/note": "x" } } };
  await stage.client.patch(stage.call, kinds.pods, mountpointPod.metadata, note);
  await untilTold(stage, other, 2);
  const versions: string[] = [];
  using following = await followVersions(stage, metadata, versions);
  await stage.phase(mountpointPod, "Running", container(1, { running: {} }));
  await expect
    .poll(async () => (await now())?.status?.mountpointPods?.[name], long)
    .toMatchObject({
      restarts: 1,
      health: "serving",
    });
  await untilTold(stage, other, 3);
  await following.until((await now())?.metadata.resourceVersion ?? "");
  expect(versions).toHaveLength(1);
  expect(writesOf(metadata.name)).toBe(writtenBefore + 1);
  const shown = ["-o", "json", "--show-managed-fields"];
  const managers = await cluster.kubectl("get", "s3pa", metadata.name, ...shown);
  const fields = (JSON.parse(managers) as { metadata: { managedFields: object[] } }).metadata.managedFields;
  expect(fields).toContainEqual(
    expect.objectContaining({ manager: "s3-pod-reconciler", operation: "Apply", subresource: "status" }),
  );
});

it("OP-5 without the right to write it, everything else goes on, and that is said once", async () => {
  await using stage = await Stage.open(cluster);
  const kubeconfig = await restrictedAccount(stage, "mountpoints3podattachments/status");
  await using reconciler = await ReconcilerProcess.start(stage, { kubeconfig });
  const { workload, mountpointPod } = await stage.running("app", await stage.volume());
  const second = await stage.running("second", await stage.volume());
  await reconciler.said("the status of attachments cannot be written");
  for (const each of [workload, second.workload]) await stage.deletePod(each);
  await expect.poll(() => stage.served(), long).toEqual({});
  expect(mountpointPod.metadata.annotations?.[annotations.needsUnmount]).toBeUndefined();
  expect(reconciler.log.match(/the status of attachments cannot be written/g)).toHaveLength(1);
});

it("LC-20 a Mountpoint Pod without a place on a full node: status and the workload's events name cause and fix", async () => {
  await using stage = await Stage.open(cluster);
  const full = { status: { allocatable: { pods: "0" } } };
  await stage.patch(`/api/v1/nodes/${stage.node}/status`, full);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const app = await stage.workload("app", { claims: [claim] });

  // The words of the real scheduler.
  await expect
    .poll(() => stage.events(app), long)
    .toMatchObject([
      {
        type: "Warning",
        reason: "MountpointPodUnschedulable",
        message: expect.stringMatching(/has no place on the node: Too many pods\. .*maxPods/),
      },
    ]);
  await expect
    .poll(() => conditionOf(stage, "Scheduled"), long)
    .toMatchObject({
      status: "False",
      reason: "Unschedulable",
      message: expect.stringContaining("Too many pods"),
    });
  const name = mountpointPodOf(app, claim);
  expect((await statusOf(stage))?.mountpointPods?.[name]?.reason).toContain("Too many pods");

  await stage.patch(`/api/v1/nodes/${stage.node}/status`, { status: { allocatable: { pods: "100" } } });
  await expect.poll(() => conditionOf(stage, "Scheduled"), long).toMatchObject({ status: "True" });
  expect((await statusOf(stage))?.mountpointPods?.[name]?.reason).toBeUndefined();
});

it("LC-20 an image that cannot be pulled is told on the workload, once for kubelet's two words for it", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const app = await stage.workload("app", { claims: [claim] });
  await expect.poll(() => stage.served(), long).not.toEqual({});
  const pod = (await stage.mountpointPod(mountpointPodOf(app, claim))) as Pod;
  await stage.phase(pod, "Pending", container(0, { waiting: imageMissing }));
  await expect.poll(() => stage.events(app), long).toMatchObject([{ reason: "MountpointPodNotStarting" }]);
  const backOff = { reason: "ImagePullBackOff", message: `Back-off pulling image "x": ErrImagePull: manifest unknown` };
  await stage.phase(pod, "Pending", container(0, { waiting: backOff }));
  // A later change of the same Pod has been dealt with, so this one has, too.
  await stage.phase(pod, "Running", container(0, { running: {} }));
  await expect
    .poll(async () => (await statusOf(stage))?.mountpointPods?.[pod.metadata.name]?.phase, long)
    .toBe("Running");
  expect((await stage.events(app)).map(({ message }) => message)).toEqual([
    expect.stringMatching(/does not start: its image cannot be pulled: manifest unknown\. .*imagePullSecrets/),
  ]);
});

const imageMissing = { reason: "ErrImagePull", message: "manifest unknown" };

function container(restartCount: number, state: object): object {
  return {
    containerStatuses: [{ name: mountpointContainer, image: "driver", imageID: "", ready: false, restartCount, state }],
  };
}

function crashed(reason: string, exitCode: number): object {
  return { terminated: { reason, exitCode, startedAt: null, finishedAt: null } };
}

async function attachmentOf(stage: Stage, { metadata }: Pod): Promise<MountpointS3PodAttachment | undefined> {
  const all = await stage.attachments();
  return all.find(({ spec }) => Object.hasOwn(spec.mountpointS3PodAttachments, metadata.name));
}

/**
 * Statuses are written some time after their cause, in the order of their causes: what was caused before this change of another
 * attachment has been written, and audited, when that has.
 */
async function untilTold(stage: Stage, mountpointPod: Pod, restarts: number): Promise<void> {
  const { name } = mountpointPod.metadata;
  const before = await attachmentOf(stage, mountpointPod);
  const writtenBefore = writesOf(before?.metadata.name ?? "");
  await stage.phase(mountpointPod, "Running", container(restarts, { running: {} }));
  const told = async () => (await attachmentOf(stage, mountpointPod))?.status?.mountpointPods?.[name]?.restarts;
  await expect.poll(told, long).toBe(restarts);
  await expect.poll(() => writesOf(before?.metadata.name ?? ""), long).toBeGreaterThan(writtenBefore);
}

/** How often the reconciler has written the status, also with what it was already. */
function writesOf(attachment: string): number {
  const writer = `fieldManager=${statusManagers.controller}`;
  const requests = auditedRequests(cluster.lab.layout);
  return requests.filter((one) => one.objectRef?.name === attachment && one.requestURI.includes(writer)).length;
}

/** The versions of an attachment after the given one. */
async function followVersions(
  stage: Stage,
  { name, resourceVersion }: MountpointS3PodAttachment["metadata"],
  versions: string[],
) {
  const stop = new AbortController();
  const call = { ...stage.call, signal: stop.signal };
  const from = { resourceVersion };
  const events = await stage.client.watch(call, kinds.attachments, { fieldSelector: `metadata.name=${name}` }, from);
  const read = async () => {
    for await (const event of events) if (event.type !== "ERROR") versions.push(event.object.metadata.resourceVersion);
  };
  read().catch(() => undefined); // it ends with the test
  return {
    until: async (version: string) => {
      await expect.poll(() => versions, long).toContain(version);
    },
    [Symbol.dispose]: () => stop.abort(),
  };
}
