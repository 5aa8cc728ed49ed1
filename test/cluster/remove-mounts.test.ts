/** The uninstallation's hook when the cluster changes between its look and its writes. */
import { beforeAll, expect, it } from "vitest";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import { removeMounts } from "../../src/setup/remove-mounts.ts";
import { openCluster } from "../support/cluster.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { installAttachmentKind, isMarked, long, type Running, Stage } from "../support/stage.ts";

type Client = Parameters<typeof removeMounts>[1];

const cluster = openCluster();

beforeAll(() => installAttachmentKind(cluster));

it("DS-7 an attachment that gets a workload after the hook has looked stays, and so does its Mountpoint Pod", async () => {
  await using stage = await Stage.open(cluster);
  const { workload, mountpointPod } = await mounted(stage);
  await stage.deletePod(workload);
  const newcomer = await stage.workload("newcomer");
  await stage.phase(newcomer, "Running");
  const entry = { workloadPodUID: newcomer.metadata.uid, attachmentTime: new Date().toISOString() };
  const spec = { mountpointS3PodAttachments: { [mountpointPod.metadata.name]: [entry] } };
  const removal = hook(stage, {
    delete: async (call, kind, ref, preconditions) => {
      const path = `/apis/s3.csi.scality.com/v2/mountpoints3podattachments/${ref.name}`;
      if (kind.kind === kinds.attachments.kind) await stage.patch(path, { spec });
      await stage.client.delete(call, kind, ref, preconditions);
    },
  });
  await expect(removal).rejects.toThrow(`S3 volumes are in use by ${stage.name}/newcomer`);
  expect(await stage.served()).toEqual({ [mountpointPod.metadata.name]: [newcomer.metadata.uid] });
  expect(isMarked((await stage.mountpointPod(mountpointPod.metadata.name)) as Pod)).toBe(false);
});

it("DS-7 a Mountpoint Pod that starts after the hook has looked is unmounted first, not deleted", async () => {
  await using stage = await Stage.open(cluster);
  const { workload, mountpointPod } = await mounted(stage);
  await stage.deletePod(workload);
  await stage.phase(mountpointPod, "Pending");
  const removal = hook(stage, {
    delete: async (call, kind, ref, preconditions) => {
      const isPending = (await stage.mountpointPod(mountpointPod.metadata.name))?.status?.phase === "Pending";
      if (kind.kind === kinds.pods.kind && isPending) await stage.phase(mountpointPod, "Running");
      await stage.client.delete(call, kind, ref, preconditions);
    },
  });
  const seen = async () => (await stage.mountpointPods()).map((pod) => [isMarked(pod), pod.metadata.deletionTimestamp]);
  await expect.poll(seen, long).toEqual([[true, undefined]]);
  await stage.phase(mountpointPod, "Succeeded");
  await removal;
  expect(await stage.mountpointPods()).toEqual([]);
});

/** A workload with a volume, mounted by a reconciler that has ended. */
async function mounted(stage: Stage): Promise<Running> {
  await using _reconciler = await ReconcilerProcess.start(stage);
  return await stage.running("app", await stage.volume());
}

/** The hook, with a test that comes between two of its requests. */
function hook(stage: Stage, { delete: deletion }: Pick<Client, "delete">): Promise<void> {
  const { client } = stage;
  const between: Client = {
    get: (...args) => client.get(...args),
    list: (...args) => client.list(...args),
    pages: (...args) => client.pages(...args),
    patch: (...args) => client.patch(...args),
    delete: deletion,
  };
  return removeMounts(stage.call, between, {
    mountpointNamespace: stage.mountpointNamespace,
    warmOwner: undefined,
    limitMs: 60_000,
    everyMs: 50,
  });
}
