/** What a user with a bucket sees: a Pod with a static volume, from its first file to its last trace. */
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { expect, it } from "vitest";
import { type FailureCause, failureCause } from "../../src/core/failures/call-failures.ts";
import { mountpointPodName, type PodUid, type PvName } from "../../src/core/names.ts";
import type { MountpointS3PodAttachment, Pod } from "../../src/kube/kinds.ts";
import { openCluster, type PodRef, type Sandbox } from "../support/cluster.ts";
import { messagesIn } from "../support/traces.ts";
import { withoutVolumePolicies } from "../support/without-volume-policies.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 200 };

it("a Pod writes an object and reads one, through a Mountpoint Pod with the names of 2.x", {
  tags: ["smoke"],
}, async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume({ mountOptions: ["allow-delete"] });
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);

  await cluster.exec(pod, "echo hello > /data/from-pod.txt");
  expect(await objectText(sandbox, "from-pod.txt")).toBe("hello\n");
  await cluster.s3.send(new PutObjectCommand({ Bucket: sandbox.bucket, Key: "dir/from-s3.txt", Body: "hi\n" }));
  expect(await cluster.exec(pod, "cat /data/dir/from-s3.txt")).toBe("hi\n");
  await cluster.exec(pod, "rm /data/from-pod.txt");
  await expect(objectText(sandbox, "from-pod.txt")).rejects.toMatchObject({ name: "NoSuchKey" });

  const uid = (await cluster.get<Pod>("pod", "app", "-n", pod.namespace))?.metadata.uid ?? "";
  const name = mountpointPodName(uid as PodUid, claim as PvName);
  const mountpointPod = await cluster.get<Pod>("pod", name, "-n", "mount-s3");
  expect(mountpointPod?.metadata.labels).toMatchObject({
    "s3.csi.scality.com/pod-uid": uid,
    "s3.csi.scality.com/volume-name": claim,
  });
  const [attachment, ...others] = await attachmentsOf(claim);
  expect(others).toEqual([]);
  expect(attachment?.spec).toMatchObject({
    nodeName: node,
    persistentVolumeName: claim,
    volumeID: claim,
    mountOptions: "allow-delete",
    workloadFSGroup: "",
    mountpointS3PodAttachments: { [name]: [{ workloadPodUID: uid }] },
  });
  const source = `/var/lib/kubelet/plugins/s3.csi.scality.com/mnt/${name}`;
  const target = `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~csi/${claim}/mount`;
  const mounts = await mountsOn(node);
  const [sourceMount, targetMount] = [source, target].map((path) => mounts.find((mount) => mount.path === path));
  expect(sourceMount).toMatchObject({ type: "fuse", device: "mountpoint-s3" });
  expect(targetMount).toEqual({ ...sourceMount, path: target });
});

it("nothing is left of a volume when its last Pod is gone", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  const name = await mountpointPodOf(claim);
  expect(await entriesOn(node, "mnt")).toContain(name);

  await cluster.deletePod(pod);

  await expect.poll(() => cluster.get("pod", name, "-n", "mount-s3"), long).toBeUndefined();
  await expect.poll(() => attachmentsOf(claim), long).toEqual([]);
  expect(await entriesOn(node, "mnt")).not.toContain(name);
  expect((await mountsOn(node)).filter((mount) => mount.path.includes(name) || mount.path.includes(claim))).toEqual([]);
});

it("Pods on one node share a Mountpoint Pod, which ends with the last of them; another node has its own", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const [first, second, far] = await Promise.all([
    sandbox.pod("first", { node, claim }),
    sandbox.pod("second", { node, claim }),
    sandbox.pod("far", { node: "worker-2", claim }),
  ]);
  await Promise.all([first, second, far].map((pod) => cluster.untilReady(pod)));
  const here = (await attachmentsOf(claim)).filter(({ spec }) => spec.nodeName === node);
  expect(here.map(({ spec }) => Object.values(spec.mountpointS3PodAttachments).map((served) => served.length))).toEqual(
    [[2]],
  );
  expect((await attachmentsOf(claim)).map(({ spec }) => spec.nodeName).toSorted()).toEqual(["worker-1", "worker-2"]);

  await cluster.exec(first, "echo shared > /data/a.txt");
  for (const pod of [second, far]) expect(await cluster.exec(pod, "cat /data/a.txt")).toBe("shared\n");
  await cluster.deletePod(first);
  await cluster.exec(second, "echo still here > /data/b.txt");
  expect(await objectText(sandbox, "b.txt")).toBe("still here\n");
});

it("mount-s3 is the only process in a Mountpoint Pod that serves", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  const mountpointPod: PodRef = { namespace: "mount-s3", name: await mountpointPodOf(claim) };
  // $$ is the shell that looks.
  const others = "for p in /proc/[0-9]*; do [ ${p#/proc/} = $$ ] || cat $p/comm 2>/dev/null; done";
  expect(
    (await cluster.exec(mountpointPod, others))
      .trim()
      .split("\n")
      .filter((name) => name !== "cat"),
  ).toEqual(["mount-s3"]);
});

it("the node plugin registers itself with kubelet, without sidecars", async () => {
  const csiNode = await cluster.get<CsiNode>("csinode", node);
  expect(csiNode?.spec.drivers).toContainEqual(expect.objectContaining({ name: "s3.csi.scality.com", nodeID: node }));
  const all = await cluster.list<Pod>("pods", "-n", "kube-system", "-l", "app=s3-csi-node");
  // Tests that make Node objects get plugins for those, too, which outlive them by a while.
  const pods = all.filter(({ spec }) => spec.nodeName?.startsWith("worker-"));
  expect(pods.map((pod) => pod.status?.containerStatuses?.map((container) => container.name))).toEqual([
    ["s3-plugin"],
    ["s3-plugin"],
  ]);
});

it("a volume without bucketName is refused by the API server, as the chart installs it by default", async () => {
  await using sandbox = await cluster.sandbox();
  await expect(sandbox.volume({ attributes: { bucketName: "" } })).rejects.toThrow("bucketName is required");
});

it("a volume without bucketName is refused with an event that names the field, where no policy has refused it", async () => {
  await using _policies = await withoutVolumePolicies(cluster);
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume({ attributes: { bucketName: "" } });
  const pod = await sandbox.pod("app", { node, claim });
  await expect.poll(() => messagesIn(cluster, pod.namespace), long).toContain("bucketName");
});

it("a bucket that does not exist is reported with mount-s3's own words, and the Pod starts once it is there", async () => {
  await using sandbox = await cluster.sandbox();
  const bucketName = `${sandbox.bucket}-missing`;
  const claim = await sandbox.volume({ attributes: { bucketName } });
  const pod = await sandbox.pod("app", { node, claim });
  await expect.poll(() => messagesIn(cluster, pod.namespace), long).toMatch(/Could not mount ".*-missing".*bucket/s);
  expect(failureCause(await messagesIn(cluster, pod.namespace))).toBe("bucketMissing" satisfies FailureCause);
  await cluster.s3.send(new CreateBucketCommand({ Bucket: bucketName }));
  await cluster.untilReady(pod);
  expect(await cluster.exec(pod, "ls /data")).toBe("");
  await cluster.deletePod(pod);
});

interface CsiNode {
  readonly spec: { readonly drivers?: readonly { readonly name: string; readonly nodeID: string }[] };
}

interface Mount {
  readonly path: string;
  readonly type: string | undefined;
  readonly device: string | undefined;
  readonly number: string | undefined;
}

async function objectText(sandbox: Sandbox, key: string): Promise<string | undefined> {
  const { Body } = await cluster.s3.send(new GetObjectCommand({ Bucket: sandbox.bucket, Key: key }));
  return Body?.transformToString();
}

async function attachmentsOf(claim: string): Promise<readonly MountpointS3PodAttachment[]> {
  return cluster.list<MountpointS3PodAttachment>("s3pa", "--field-selector", `spec.persistentVolumeName=${claim}`);
}

async function mountpointPodOf(claim: string): Promise<string> {
  const [attachment] = await attachmentsOf(claim);
  return Object.keys(attachment?.spec.mountpointS3PodAttachments ?? {})[0] ?? "";
}

async function mountsOn(name: string): Promise<readonly Mount[]> {
  const text = await onNode(name, "cat", "/proc/1/mountinfo");
  return text
    .trim()
    .split("\n")
    .map((line) => {
      const [fields = "", tail = ""] = line.split(" - ");
      const [, , number, , path = ""] = fields.split(" ");
      const [type, device] = tail.split(" ");
      return { path, type, device, number };
    });
}

async function entriesOn(name: string, directory: string): Promise<readonly string[]> {
  return (await onNode(name, "ls", `/var/lib/kubelet/plugins/s3.csi.scality.com/${directory}`)).trim().split("\n");
}

function onNode(name: string, ...argv: readonly string[]): Promise<string> {
  return cluster.lab.node(name).exec(argv, { signal: AbortSignal.timeout(60_000) });
}
