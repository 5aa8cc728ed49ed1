/** Options and settings that an operator changes while workloads use a volume. */
import { expect, it } from "vitest";
import { annotations, livePrefix } from "../../src/core/names.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import { Claims } from "../support/claims.ts";
import { openCluster } from "../support/cluster.ts";
import { eventsIn, killMountS3, long, untilWorking } from "../support/healing.ts";
import { KubectlPlugin } from "../support/kubectl-plugin.ts";
import { attachmentsOf, onNode, pidOf } from "../support/mount-s3-process.ts";
import { errorsOf, finishOpenFiles, holders, phaseOf, requestMove, strictPod } from "../support/moving.ts";
import { replacePlugin } from "../support/node-plugin.ts";

const cluster = openCluster();
const node = "worker-1";

it("LC-21 live options and resources come with a move, and every mount-s3 of that Mountpoint Pod has them", async () => {
  await using sandbox = await cluster.sandbox();
  using plugin = await KubectlPlugin.build(cluster);
  const claim = await sandbox.volume({ mountOptions: ["metadata-ttl=1", "max-threads=16"] });
  const pod = await strictPod(sandbox, { claim, node });
  await untilWorking(cluster, pod);
  const former = await holderOf(claim);
  const before = await argumentsOf(former);
  expect(before).toContain("--metadata-ttl=1");

  await annotate(claim, {
    mountOptions: "metadata-ttl 7, negative-metadata-ttl minimal",
    mountpointContainerResourcesLimitsMemory: "700Mi",
  });
  // A Pod that comes now shares the running mount: only a move changes that.
  await cluster.untilReady(await sandbox.pod("later", { node, claim }));
  expect(await holders(cluster, claim)).toEqual([former]);
  expect(plugin.kubectl(["s3", "describe", claim])).toMatch(/Live options: +none, other than those of the volume/);

  await requestMove(cluster, former, "1");
  await expect.poll(() => eventsIn(cluster, sandbox.name), long).toContain("VolumeMoved");
  const successor = await holderOf(claim);
  const changed = ["--memory-target=665", "--metadata-ttl=7", "--negative-metadata-ttl=minimal"];
  const after = before.map((argument) => argument.replace("--metadata-ttl=1", "--metadata-ttl=7"));
  const expected = [...after, ...changed.filter((argument) => !after.includes(argument))].toSorted();
  await expect.poll(() => argumentsOf(successor), long).toEqual(expected);
  const mountpointPod = await cluster.get<Pod>("pod", successor, "-n", "mount-s3");
  expect(mountpointPod?.spec).toMatchObject({ containers: [{ resources: { limits: { memory: "700Mi" } } }] });
  // What workloads share by stays that of the PersistentVolume.
  const attachments = await attachmentsOf(cluster, claim);
  expect(attachments.map(({ spec }) => spec.mountOptions)).toEqual(["metadata-ttl=1,max-threads=16"]);
  await finishOpenFiles(cluster, pod, sandbox.bucket);
  await untilWorking(cluster, pod);
  expect(await errorsOf(cluster, pod)).toBe("");
  await expect.poll(() => phaseOf(cluster, former), long).toBe("gone");
  const described = plugin.kubectl(["s3", "describe", claim]);
  expect(described).toMatch(/Live options: +--metadata-ttl=7, --negative-metadata-ttl=minimal, mountpointContainer/);
  expect(described).not.toContain("other than those of the volume");

  // What the volume asks for meanwhile is for the next Mountpoint Pod, whoever mounts.
  await annotate(claim, { mountOptions: "metadata-ttl 9" });
  await replacePlugin(cluster, node);
  await killMountS3(cluster, node, claim);
  await expect.poll(() => argumentsOf(successor), long).toEqual(expected);
  expect(await holders(cluster, claim)).toEqual([successor]);
  await cluster.kubectl("delete", "pod", successor, "-n", "mount-s3", "--wait=false");
  const next = async () => (await argumentsOf(await holderOf(claim))).filter((argument) => argument.includes("-ttl"));
  await expect.poll(next, long).toEqual(["--metadata-ttl=9"]);
});

it("LC-24 a live option that decides what a path leads to changes nothing, and an event says why", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await strictPod(sandbox, { claim, node });
  await untilWorking(cluster, pod);
  const former = await holderOf(claim);
  const before = await argumentsOf(former);

  await annotate(claim, { mountOptions: "metadata-ttl 7, prefix other/" });
  const because = `annotation ${livePrefix}mountOptions is ignored: option --prefix cannot change`;
  await expect.poll(() => eventsIn(cluster, sandbox.name), long).toContain(because);
  expect(await eventsIn(cluster, sandbox.name)).toMatch(/LiveOptionsRefused: .*In the annotation: remove the option\./);
  await requestMove(cluster, former, "1");
  await expect.poll(() => eventsIn(cluster, sandbox.name), long).toMatch(/VolumeNotMoved: .*option --prefix cannot/);
  expect(await holders(cluster, claim)).toEqual([former]);
  expect(await argumentsOf(former)).toEqual(before);

  // New workloads are served, and a Mountpoint Pod that is created now gets nothing of the annotation.
  await cluster.kubectl("annotate", "pod", "-n", "mount-s3", former, `${annotations.noNewWorkload}=true`);
  await cluster.untilReady(await sandbox.pod("later", { node, claim }));
  const other = (await holders(cluster, claim)).find((name) => name !== former) ?? "";
  const args = await argumentsOf(other);
  expect(args.filter((argument) => /^--(metadata-ttl|prefix)/.test(argument))).toEqual([]);
  await finishOpenFiles(cluster, pod, sandbox.bucket);
  expect(await errorsOf(cluster, pod)).toBe("");
});

it("LC-21 mount-s3 starts, reads and writes with the least and the most of every live option", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  const least = ["metadata-ttl 0", "negative-metadata-ttl 0", "maximum-throughput-gbps 1", "max-threads 1"];
  const most = ["metadata-ttl 3153600000", "negative-metadata-ttl 3153600000", "maximum-throughput-gbps 1000"];
  const edges = [
    [...least, "aws-max-attempts 1", "memory-target 512", "part-size 5242880", "max-cache-size 0", "no-log"],
    // The largest parts with the smallest memory.
    [...most, "max-threads 256", "aws-max-attempts 64", "memory-target 512", "part-size 134217728", "debug-crt"],
    ["memory-target 1048576", "max-cache-size 1073741824", "log-metrics", "debug"],
  ];
  for (const [index, mountOptions] of edges.entries()) {
    const former = await holderOf(claim);
    await annotate(claim, { cache: "emptyDir", mountOptions: mountOptions.join(",") });
    await requestMove(cluster, former, "1");
    await expect.poll(() => holders(cluster, claim), long).not.toContain(former);
    const [first = ""] = mountOptions;
    const expected = `--${first.replace(" ", "=")}`;
    await expect.poll(async () => argumentsOf(await holderOf(claim)), long).toContain(expected);
    await expect.poll(() => eventsIn(cluster, sandbox.name), long).toContain(`from Mountpoint Pod ${former}`);
    await cluster.exec(pod, `head -c 9000000 /dev/zero > /data/${index} && [ "$(wc -c < /data/${index})" = 9000000 ]`);
  }
  expect(await eventsIn(cluster, sandbox.name)).not.toContain("VolumeNotMoved");
});

it("LC-24 a claim that names live options does not pass them on to its PersistentVolume", async () => {
  await using sandbox = await cluster.sandbox();
  const live = { [`${livePrefix}mountOptions`]: "debug" };
  // csi-provisioner creates the PersistentVolume, from the class and the answer of the driver.
  await using claims = await Claims.ofClass(sandbox, { parameters: live });
  const { metadata, spec } = await claims.volume("data", { annotations: live });
  const names = [...Object.keys(metadata.annotations ?? {}), ...Object.keys(spec.csi.volumeAttributes)];
  expect(names).toContain("pv.kubernetes.io/provisioned-by");
  expect(names.filter((name) => name.startsWith(livePrefix))).toEqual([]);
});

async function annotate(claim: string, live: Readonly<Record<string, string>>): Promise<void> {
  const set = Object.entries(live).map(([name, value]) => `${livePrefix}${name}=${value}`);
  await cluster.kubectl("annotate", "pv", claim, "--overwrite", ...set);
}

async function holderOf(claim: string): Promise<string> {
  const [name = ""] = await holders(cluster, claim);
  return name;
}

/** Of the mount-s3 of a Mountpoint Pod, without bucket and descriptor, sorted; empty while none runs. */
async function argumentsOf(mountpointPod: string): Promise<readonly string[]> {
  const uid = (await cluster.get<Pod>("pod", mountpointPod, "-n", "mount-s3"))?.metadata.uid ?? "none";
  const pid = await pidOf(cluster, node, uid);
  if (pid === "") return [];
  const words = await onNode(cluster, node, "sh", "-c", `cat /proc/${pid}/cmdline || true`);
  return words.split("\0").slice(3, -1).toSorted();
}
