/** What the attributes and options of a volume make of its Mountpoint Pod. */
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failurePattern } from "../../src/core/failures/call-failures.ts";
import type { MountpointS3PodAttachment, Pod } from "../../src/kube/kinds.ts";
import { openCluster, type PodRef, podManifest, type Sandbox } from "../support/cluster.ts";
import { onNode } from "../support/mount-s3-process.ts";
import { messagesIn } from "../support/traces.ts";
import { withoutVolumePolicies } from "../support/without-volume-policies.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 500 };

it("MP-6 a volume whose name has 253 characters and whose handle fits into no label mounts, and ends", async () => {
  await using sandbox = await cluster.sandbox();
  const name = `${sandbox.name}.${"long-name.".repeat(25)}`.slice(0, 252).concat("x");
  expect(name).toHaveLength(253);
  const claim = await sandbox.volume({ name, csi: { volumeHandle: `Odd/handle of ${name}` } });
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  await cluster.exec(pod, "echo hello > /data/file.txt");
  expect(await cluster.exec(pod, "cat /data/file.txt")).toBe("hello\n");

  const mountpointPod = await mountpointPodOf(claim);
  const { metadata } = await podOf(mountpointPod);
  expect(metadata.annotations).toMatchObject({ "s3.csi.scality.com/volume-name": name });
  expect(metadata.labels).not.toHaveProperty("s3.csi.scality.com/volume-name");
  const { uid } = (await podOf(pod)).metadata;
  await cluster.deletePod(pod);
  await expect.poll(() => cluster.get("pod", mountpointPod.name, "-n", "mount-s3"), long).toBeUndefined();
  await expect.poll(() => attachmentsOf(claim), long).toEqual([]);
  // kubelet, too, is content: it keeps the directory of a Pod until all its volumes were taken back.
  await expect.poll(() => onNode(cluster, node, "ls", "/var/lib/kubelet/pods"), long).not.toContain(uid);
});

it("MP-12 what lies in the cache is not read from S3 again; without a cache it is", async () => {
  await using sandbox = await cluster.sandbox();
  await put(sandbox, "object", 8);
  const [cached, plain] = [
    await sandbox.volume({ attributes: { cache: "emptyDir", cacheEmptyDirSizeLimit: "64Mi" } }),
    await sandbox.volume(),
  ];
  const [reader, control] = [
    await sandbox.pod("cached", { node, claim: cached }),
    await sandbox.pod("plain", { node, claim: plain }),
  ];
  await Promise.all([reader, control].map((pod) => cluster.untilReady(pod)));
  const readsOf = async (pod: PodRef) => {
    const before = getsOf(sandbox, "object");
    expect(await cluster.exec(pod, "cat /data/object | wc -c")).toBe(`${8 * mebibyte}\n`);
    return getsOf(sandbox, "object") - before;
  };

  expect(await readsOf(reader)).toBeGreaterThan(0);
  // mount-s3 writes to its cache beside the read.
  await expect.poll(() => cachedMib(cached), long).toBeGreaterThanOrEqual(8);
  expect(await readsOf(reader)).toBe(0);
  expect(await readsOf(control)).toBeGreaterThan(0);
  expect(await readsOf(control)).toBeGreaterThan(0);
});

it("MP-12 reading more than the cache holds keeps it within its limit, where kubelet evicts others", async () => {
  await using sandbox = await cluster.sandbox();
  await put(sandbox, "object", 64);
  const attributes = { cache: "emptyDir", cacheEmptyDirSizeLimit: "16Mi" };
  const claim = await sandbox.volume({ attributes, mountOptions: ["max-cache-size=1000"] });
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  const mountpointPod = await mountpointPodOf(claim);
  expect((await podOf(mountpointPod)).spec).toMatchObject({
    volumes: expect.arrayContaining([{ name: "cache", emptyDir: { sizeLimit: "16Mi" } }]),
  });
  expect(await commandLine(mountpointPod)).toEqual(expect.arrayContaining(["--cache=/cache", "--max-cache-size=15"]));

  await cluster.exec(pod, "cat /data/object > /dev/null && cat /data/object > /dev/null");
  expect(await cachedMib(claim)).toBeGreaterThan(0);
  // Shows that kubelet has looked: a Pod that fills the same volume with the same data is thrown out.
  const control = await greedyPod(sandbox);
  await expect.poll(async () => (await podOf(control)).status?.phase, long).toBe("Failed");
  expect((await podOf(control)).status?.reason).toBe("Evicted");
  expect(await cachedMib(claim)).toBeLessThanOrEqual(16);
  expect((await podOf(mountpointPod)).status?.phase).toBe("Running");
  expect(await cluster.exec(pod, "ls /data")).toBe("object\n");
});

it("MP-12 the mount option cache alone gives a directory of its own, and a memory cache lies in memory", async () => {
  await using sandbox = await cluster.sandbox();
  const memory = { cache: "emptyDir", cacheEmptyDirMedium: "Memory", cacheEmptyDirSizeLimit: "32Mi" };
  const claims = [
    await sandbox.volume({ mountOptions: ["cache /wherever"] }),
    await sandbox.volume({ attributes: memory }),
  ];
  const types: string[] = [];
  for (const claim of claims) {
    await cluster.untilReady(await sandbox.pod(`app-${types.length}`, { node, claim }));
    const mountpointPod = await mountpointPodOf(claim);
    expect(await commandLine(mountpointPod)).toContain("--cache=/cache");
    types.push((await cluster.exec(mountpointPod, "stat -f -c %T /cache")).trim());
  }
  expect(types[0]).not.toBe("tmpfs");
  expect(types[1]).toBe("tmpfs");
});

it("MP-12 an ephemeral cache is a claim of the Mountpoint Pod's own, and goes with it", async () => {
  await using sandbox = await cluster.sandbox();
  const attributes = {
    cache: "ephemeral",
    cacheEphemeralStorageClassName: sandbox.name,
    cacheEphemeralStorageResourceRequest: "1Gi",
  };
  await using _disk = await diskOfClass(sandbox.name);
  await put(sandbox, "object", 4);
  const claim = await sandbox.volume({ attributes });
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  const mountpointPod = await mountpointPodOf(claim);
  expect(await commandLine(mountpointPod)).toEqual(expect.arrayContaining(["--cache=/cache", "--max-cache-size=972"]));
  await cluster.exec(pod, "cat /data/object > /dev/null");
  await expect.poll(() => cachedMib(claim), long).toBeGreaterThanOrEqual(4);
  const cacheClaim = `${mountpointPod.name}-cache`;
  expect(await cluster.get("pvc", cacheClaim, "-n", "mount-s3")).toBeDefined();
  await cluster.deletePod(pod);
  await expect.poll(() => cluster.get("pvc", cacheClaim, "-n", "mount-s3"), long).toBeUndefined();
});

it("MP-13 resources of a volume are those of its Mountpoint Pod; without, there are small requests and no limit", async () => {
  await using sandbox = await cluster.sandbox();
  const attributes = {
    mountpointContainerResourcesRequestsCpu: "20m",
    mountpointContainerResourcesRequestsMemory: "64Mi",
    mountpointContainerResourcesLimitsCpu: "2",
    mountpointContainerResourcesLimitsMemory: "700Mi",
  };
  const [limited, plain] = [await sandbox.volume({ attributes }), await sandbox.volume()];
  await cluster.untilReady(await sandbox.pod("limited", { node, claim: limited }));
  await cluster.untilReady(await sandbox.pod("plain", { node, claim: plain }));
  expect((await containerOf(limited)).resources).toEqual({
    requests: { cpu: "20m", memory: "64Mi" },
    limits: { cpu: "2", memory: "700Mi" },
  });
  expect((await containerOf(plain)).resources).toEqual({ requests: { cpu: "10m", memory: "32Mi" } });
  expect(await commandLine(await mountpointPodOf(limited))).toContain("--memory-target=665");
  expect((await commandLine(await mountpointPodOf(plain))).join(" ")).not.toContain("--memory-target");
});

it("MP-13 200 parallel readers do not get mount-s3 killed at 700 MiB; they do where its target ignores the limit", async () => {
  await using sandbox = await cluster.sandbox();
  await put(sandbox, "object", 32);
  const attributes = { mountpointContainerResourcesLimitsMemory: "700Mi" };
  const claim = await sandbox.volume({ attributes });
  const careless = await sandbox.volume({ attributes, mountOptions: ["memory-target=16000"] });
  const pods = [await sandbox.pod("app", { node, claim }), await sandbox.pod("control", { node, claim: careless })];
  await Promise.all(pods.map((pod) => cluster.untilReady(pod)));
  const [app, control] = pods as [PodRef, PodRef];
  const mountpointPods = [await mountpointPodOf(claim), await mountpointPodOf(careless)] as const;

  expect(await cluster.exec(app, readers)).toBe(`200 ${32 * mebibyte}\n`);
  // How much lies in memory depends on how far S3 is ahead of the readers, so one round may not be enough on a busy machine.
  const killed = async () => {
    await cluster.exec(control, readers);
    return lastEndOf(await podOf(mountpointPods[1]));
  };
  await expect.poll(killed, long).toBe("OOMKilled");
  expect(lastEndOf(await podOf(mountpointPods[0]))).toBeUndefined();
});

it("MP-13 a memory limit below 512 MiB is reported and served", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume({ attributes: { mountpointContainerResourcesLimitsMemory: "128Mi" } });
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  await expect
    .poll(() => messagesIn(cluster, pod.namespace), long)
    .toContain("set volumeAttributes.mountpointContainerResourcesLimitsMemory to 512Mi or more");
  expect(await cluster.exec(pod, "ls /data")).toBe("");
});

describe("where no policy has refused it", () => {
  let policies: AsyncDisposable;
  beforeAll(async () => {
    policies = await withoutVolumePolicies(cluster);
  });
  afterAll(() => policies[Symbol.asyncDispose]());

  it.for([
    [
      { attributes: { cache: "hostPath" } },
      'volumeAttributes.cache "hostPath" is not a kind of cache',
      "refusedAttribute",
    ],
    [
      { attributes: { mountpointContainerResourcesLimitsMemory: "1GB" } },
      "write one such as 512Mi or 2Gi",
      "refusedAttribute",
    ],
    [
      { attributes: { "mountpointEnv.LD_PRELOAD": "/evil.so" } },
      "mountpointEnv.LD_PRELOAD cannot be set for a volume",
      "refusedAttribute",
    ],
    [{ mountOptions: ["-df"] }, 'mount option "-df" is not an option of mount-s3', "refusedMountOption"],
  ] as const)("a volume with %j is refused with an event that names field and fix", async ([wish, text, cause]) => {
    await using sandbox = await cluster.sandbox();
    const claim = await sandbox.volume(wish);
    const pod = await sandbox.pod("app", { node, claim });
    await expect.poll(() => messagesIn(cluster, pod.namespace), long).toContain(text);
    const ofKubelet = new RegExp(`code = InvalidArgument desc = .*(${failurePattern(cause).source})`, "i");
    await expect.poll(() => messagesIn(cluster, pod.namespace), long).toMatch(ofKubelet);
    expect(await attachmentsOf(claim)).toEqual([]);
  });
});

it("the proxy of a volume is in the environment of mount-s3", async () => {
  await using sandbox = await cluster.sandbox();
  const attributes = { "mountpointEnv.HTTPS_PROXY": "http://proxy.invalid:3128" };
  const claim = await sandbox.volume({ attributes });
  await cluster.untilReady(await sandbox.pod("app", { node, claim }));
  const environment = await cluster.exec(await mountpointPodOf(claim), "tr '\\0' '\\n' < /proc/1/environ");
  expect(environment.split("\n")).toContain("HTTPS_PROXY=http://proxy.invalid:3128");
});

const mebibyte = 2 ** 20;

/** How many of 200 parallel readers got how many bytes. */
const readers = `
  i=0; while [ $i -lt 200 ]; do cat /data/object | wc -c > /tmp/$i & i=$((i + 1)); done; wait
  cat /tmp/[0-9]* | sort | uniq -c | sed 's/^ *//'`;

async function put(sandbox: Sandbox, key: string, mib: number): Promise<void> {
  const Body = Buffer.alloc(mib * mebibyte, key);
  await cluster.s3.send(new PutObjectCommand({ Bucket: sandbox.bucket, Key: key, Body }));
}

/** How often the object was read, by the log of the S3 server. */
function getsOf(sandbox: Sandbox, key: string): number {
  const request = `| GET | /${sandbox.bucket}/${key} |`;
  return cluster.lab.component("versitygw").log().split(request).length - 1;
}

async function attachmentsOf(claim: string): Promise<readonly MountpointS3PodAttachment[]> {
  const all = await cluster.list<MountpointS3PodAttachment>("s3pa");
  return all.filter(({ spec }) => spec.persistentVolumeName === claim);
}

async function mountpointPodOf(claim: string): Promise<PodRef> {
  const [attachment] = await attachmentsOf(claim);
  return { namespace: "mount-s3", name: Object.keys(attachment?.spec.mountpointS3PodAttachments ?? {})[0] ?? "" };
}

interface WholePod extends Pod {
  readonly spec: Pod["spec"] & { readonly containers: readonly { readonly resources: object }[] };
  readonly status?: NonNullable<Pod["status"]> & { readonly reason?: string };
}

async function podOf({ namespace, name }: PodRef): Promise<WholePod> {
  const pod = await cluster.get<WholePod>("pod", name, "-n", namespace);
  if (pod === undefined) throw new Error(`there is no Pod ${namespace}/${name}`);
  return pod;
}

/** Why its container was started again, if it was. */
function lastEndOf({ status }: WholePod): string | undefined {
  const [container] = status?.containerStatuses ?? [];
  return (container?.lastState?.terminated ?? container?.state?.terminated)?.reason;
}

async function containerOf(claim: string): Promise<{ readonly resources: object }> {
  const { spec } = await podOf(await mountpointPodOf(claim));
  return spec.containers[0] ?? { resources: {} };
}

/** Of mount-s3, which is the first and only process. */
async function commandLine(mountpointPod: PodRef): Promise<readonly string[]> {
  return (await cluster.exec(mountpointPod, "tr '\\0' '\\n' < /proc/1/cmdline")).trim().split("\n");
}

async function cachedMib(claim: string): Promise<number> {
  return Number((await cluster.exec(await mountpointPodOf(claim), "du -sk /cache | cut -f1")).trim()) / 1024;
}

/** Fills an emptyDir of 16Mi with 64 MiB. */
async function greedyPod({ name: namespace }: Sandbox): Promise<PodRef> {
  const ref = { namespace, name: "greedy" };
  const fill = "dd if=/dev/zero of=/cache/fill bs=1M count=64 && sleep 2147483647";
  const { spec, ...rest } = podManifest(ref, { node, command: ["sh", "-c", fill] }) as {
    spec: { containers: readonly object[] };
  };
  const containers = spec.containers.map((one) => ({ ...one, volumeMounts: [{ name: "cache", mountPath: "/cache" }] }));
  const volumes = [{ name: "cache", emptyDir: { sizeLimit: "16Mi" } }];
  await cluster.apply({ ...rest, spec: { ...spec, containers, volumes } });
  return ref;
}

/** A volume on the node's disk that claims of this class bind to; here is no provisioner for such. */
async function diskOfClass(name: string): Promise<AsyncDisposable> {
  const path = `/var/lib/kubelet/${name}`;
  await onNode(cluster, node, "mkdir", "-m", "0777", path);
  await cluster.apply({
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: `${name}-disk` },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      storageClassName: name,
      persistentVolumeReclaimPolicy: "Retain",
      hostPath: { path },
    },
  });
  return {
    [Symbol.asyncDispose]: async () => {
      await cluster.kubectl("delete", "pv", `${name}-disk`);
      await onNode(cluster, node, "rm", "-rf", path);
    },
  };
}
