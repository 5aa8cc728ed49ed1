/** Containers that try to lead healing astray: whatever they do to their directories, only the dead mount is replaced. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { DeviceId } from "../../src/linux/device-id.ts";
import { mountAt, parseMountinfo, type WholeMount } from "../../src/linux/mounts/mountinfo.ts";
import { openCluster, type PodRef, podManifest, type Sandbox } from "../support/cluster.ts";
import { processOf } from "../support/container-process.ts";
import { killMountS3, long } from "../support/healing.ts";
import { onNode } from "../support/mount-s3-process.ts";
import { scaled } from "../support/scale.ts";
import { mountpointPodsOf, sourcesDir } from "../support/traces.ts";
import { compileFixture } from "../wire/fixture-programs.ts";

const cluster = openCluster();
const node = "worker-1";
const heals = scaled("heals of a container that exchanges directories", 5, 1000);
let tools: string;

beforeAll(() => {
  tools = mkdtempSync(join(tmpdir(), "exchange-"));
  compileFixture("exchange", tools);
});

afterAll(() => rmSync(tools, { recursive: true }));

it(`SE-8 a container that exchanges directories through ${heals} heals keeps every mount that its runtime made`, {
  timeout: heals * long.timeout,
}, async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await exchangingPod(sandbox, claim);
  const { pid } = (await processOf(cluster, pod)) ?? { pid: -1 };
  const mounts = () => parseMountinfo(readFileSync(`/proc/${pid}/mountinfo`, "utf8"));
  const ofRuntime = () =>
    mounts()
      .filter((mount) => !isVolume(mount))
      .map(described);
  const before = ofRuntime();
  expect(before).toContainEqual(expect.stringMatching(/^\d+ \/proc\/sys ro/));
  const volumes = () =>
    mounts()
      .filter(isVolume)
      .map(({ deviceId }) => deviceId);
  expect(volumes()).toEqual([await servedDevice(claim)]);

  for (let heal = 1; heal <= heals; heal += 1) {
    const [dead] = volumes();
    await killMountS3(cluster, node, claim);
    await expect.poll(volumes, long).not.toContain(dead);
    expect(ofRuntime()).toEqual(before);
    // The former Mountpoint Pod may still be listed for a moment, and the next death must hit the one that serves.
    const isServed = async () => volumes().join() === String(await servedDevice(claim));
    await expect.poll(isServed, long).toBe(true);
  }
});

/** The volume is at /x/sys, and y is a link to /proc: with x and y exchanged, the path of the volume leads to /proc/sys. */
async function exchangingPod({ name: namespace }: Sandbox, claim: string): Promise<PodRef> {
  const ref = { namespace, name: "exchanges" };
  const script = "ln -s /proc /y; exec /tools/exchange /x /y 1000000000";
  const { spec, ...rest } = podManifest(ref, { node, claim, tools, command: ["sh", "-c", script] }) as Manifest;
  const containers = spec.containers.map((container) => {
    const volumeMounts = container.volumeMounts.map((mount) =>
      mount.mountPath === "/data" ? { name: mount.name, mountPath: "/x/sys" } : mount,
    );
    // Without a CPU limit: a loop that is throttled most of the time exchanges nothing in the moment that counts.
    return Object.assign({}, container, { volumeMounts });
  });
  await cluster.apply({ ...rest, spec: { ...spec, containers } });
  await cluster.untilReady(ref);
  return ref;
}

interface Manifest {
  readonly spec: {
    readonly containers: readonly {
      readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
    }[];
  };
}

function isVolume({ device }: WholeMount): boolean {
  return device === "mountpoint-s3";
}

function described({ id, mountPoint, options }: WholeMount): string {
  return `${id} ${mountPoint} ${options.join(",")}`;
}

/** Of the source that the volume's Mountpoint Pod serves. */
async function servedDevice(claim: string): Promise<DeviceId | undefined> {
  const [name = ""] = await mountpointPodsOf(cluster, claim);
  const table = parseMountinfo(await onNode(cluster, node, "cat", "/proc/1/mountinfo"));
  return mountAt(table, `${sourcesDir}/${name}`)?.deviceId;
}
