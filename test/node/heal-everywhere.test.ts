/** Whoever holds a dead mount gets the new one: all kinds of containers that a volume can be in, healed by one swap. */
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openCluster, type PodRef, type PodWish, podManifest, type Sandbox } from "../support/cluster.ts";
import { identityOf, killMountS3, long, tableLengths } from "../support/healing.ts";
import { scaled } from "../support/scale.ts";

const cluster = openCluster();
const node = "worker-1";
/** Those that only share the mount. */
const sharers = scaled("workloads that share the mount", 3, 20);

let sandbox: Sandbox;
let claim: string;
let other: string;
let before: readonly unknown[];
let tablesBefore: readonly number[];
let otherMountBefore: string;

/** A container of a Pod, and what is different about how it has the volume. */
interface Kind {
  readonly name: string;
  readonly container?: string;
  readonly mount?: object;
  /** Kubernetes wants it of those who mount for the host. */
  readonly privileged?: boolean;
  readonly pod?: PodWish;
}

const kinds: readonly Kind[] = [
  { name: "writer" },
  { name: "reader", pod: { readOnly: true } },
  { name: "mounts-read-only", mount: { readOnly: true } },
  { name: "sub-path", mount: { subPath: "part/of/it" } },
  { name: "empty-sub-path", mount: { subPath: "made-by-kubelet" } },
  { name: "follows-the-host", mount: { mountPropagation: "HostToContainer" } },
  { name: "shares-with-the-host", mount: { mountPropagation: "Bidirectional" }, privileged: true },
  { name: "sidecar", container: "sidecar" },
];

beforeAll(async () => {
  sandbox = await cluster.sandbox();
  await put("before", "before\n");
  await put("part/of/it/before", "part\n");
  [claim, other] = [await sandbox.volume(), await sandbox.volume()];
  for (const kind of kinds) await cluster.apply(manifestOf(kind));
  for (let sharer = 0; sharer < sharers; sharer += 1) await sandbox.pod(`sharer-${sharer}`, { node, claim });
  await Promise.all(allPods().map((pod) => cluster.untilReady(pod)));
  await cluster.exec(podOf("writer"), "echo other > /other/file");
  before = await identities();
  tablesBefore = await tableLengths(cluster, node, allPods());
  otherMountBefore = await cluster.exec(podOf("writer"), "grep ' /other ' /proc/1/mountinfo");
  await killMountS3(cluster, node, claim);
});

afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

it.for(["writer", "follows-the-host", "shares-with-the-host"])(
  "LC-1 a container reads and writes again: %s",
  async (name) => {
    await expect.poll(() => look(name, "cat /data/before"), long).toBe("before\n");
    await cluster.exec(podOf(name), `echo ${name} > /data/new-${name}`);
    expect(await cluster.exec(podOf(name), `cat /data/new-${name}`)).toBe(`${name}\n`);
  },
);

it.for(["reader", "mounts-read-only"])(
  "LC-1 a container that may only read reads again, and only reads: %s",
  async (name) => {
    await expect.poll(() => look(name, "cat /data/before"), long).toBe("before\n");
    expect(await look(name, "echo x > /data/written")).toContain("Read-only file system");
  },
);

it("LC-1 a container with a sub-path sees that part of the bucket again, and nothing above it", async () => {
  await expect.poll(() => look("sub-path", "cat /data/before"), long).toBe("part\n");
  expect(await cluster.exec(podOf("sub-path"), "ls /data")).toBe("before\n");
});

it("LC-1 a sub-path that was still empty when mount-s3 died can be written to again", async () => {
  await expect.poll(() => look("empty-sub-path", "echo late > /data/late && cat /data/late"), long).toBe("late\n");
  expect(await cluster.exec(podOf("writer"), "cat /data/made-by-kubelet/late")).toBe("late\n");
});

it("LC-1 a sidecar, which is an init container, is healed like the others", async () => {
  await expect.poll(() => look("sidecar", "cat /data/before", "sidecar"), long).toBe("before\n");
});

it("LC-1 all who share the mount are healed, none is restarted, and mount tables are no longer than before", async () => {
  for (const { name } of allPods())
    await expect.poll(() => look(name, "ls /data"), long).not.toContain("not connected");
  expect(await identities()).toEqual(before);
  expect(await tableLengths(cluster, node, allPods())).toEqual(tablesBefore);
});

it("LC-1 another volume of the same Pod is not touched", async () => {
  expect(await cluster.exec(podOf("writer"), "grep ' /other ' /proc/1/mountinfo")).toBe(otherMountBefore);
  expect(await cluster.exec(podOf("writer"), "cat /other/file")).toBe("other\n");
});

function podOf(name: string): PodRef {
  return { namespace: sandbox.name, name };
}

function allPods(): readonly PodRef[] {
  const names = [...kinds.map(({ name }) => name), ...Array.from({ length: sharers }, (_, index) => `sharer-${index}`)];
  return names.map(podOf);
}

function identities(): Promise<readonly unknown[]> {
  return Promise.all(allPods().map((pod) => identityOf(cluster, pod)));
}

/** What a command prints, its complaints included. */
function look(name: string, command: string, container = "app"): Promise<string> {
  const script = `{ ${command}; } 2>&1 || true`;
  return cluster.exec(podOf(name), script, container);
}

async function put(Key: string, Body: string): Promise<void> {
  await cluster.s3.send(new PutObjectCommand({ Bucket: sandbox.bucket, Key, Body }));
}

interface Manifest {
  readonly spec: {
    readonly containers: readonly { readonly volumeMounts: readonly object[] }[];
    readonly volumes: readonly object[];
  };
}

function manifestOf({ name, mount = {}, privileged = false, container, pod = {} }: Kind): object {
  const { spec, ...rest } = podManifest(podOf(name), { node, claim, ...pod }) as Manifest;
  const second = { name: "other", persistentVolumeClaim: { claimName: other } };
  const containers = spec.containers.map(({ volumeMounts, ...one }) => ({
    ...one,
    ...(privileged ? { securityContext: { privileged } } : {}),
    volumeMounts: [
      ...volumeMounts.map((each) => ({ ...each, ...mount })),
      ...(name === "writer" ? [{ name: "other", mountPath: "/other" }] : []),
    ],
  }));
  const [first] = containers;
  const sidecars = container === undefined ? [] : [{ ...first, name: container, restartPolicy: "Always" }];
  const volumes = [...spec.volumes, ...(name === "writer" ? [second] : [])];
  return { ...rest, spec: { ...spec, initContainers: sidecars, containers, volumes } };
}
