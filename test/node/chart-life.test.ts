/** The life of an installation with Helm: upgraded, rolled back, uninstalled and installed again, beside Pods that work. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { chart, driverNamespace } from "../../lab/install-driver.ts";
import { version } from "../../src/bin/version.ts";
import { IdentityService } from "../../src/csi/gen/csi.ts";
import type { KubeObject, Pod } from "../../src/kube/kinds.ts";
import { render } from "../chart/rendered-chart.ts";
import { openCluster } from "../support/cluster.ts";
import { csiClient } from "../support/csi-client.ts";
import { HelmRelease } from "../support/helm-release.ts";
import { goesOn, live, putBlocks } from "../support/live-pod.ts";
import { attachmentsOf, csiSocketOf, mountS3Of, onNode } from "../support/mount-s3-process.ts";
import { prune, pruningTools } from "../support/prune.ts";
import { untilWarmOn, warmOn } from "../support/warm-node.ts";

const cluster = openCluster();
const node = "worker-1";
const definitionName = "mountpoints3podattachments.s3.csi.scality.com";
const helm = new HelmRelease(cluster);

/** Whatever a test did, the others find the driver as usual. */
afterAll(() => helm.asUsual());

it("CH-6, CH-4 an upgrade takes over the definition of 2.2.0 and keeps namespace and classes, while a Pod writes", async () => {
  await using sandbox = await cluster.sandbox();
  await putBlocks(sandbox);
  const claim = await sandbox.volume({ mountOptions: ["allow-delete"] });
  const pod = await sandbox.pod("app", { node, claim, command: live });
  await cluster.untilReady(pod);
  const [attachment] = await attachmentsOf(cluster, claim);
  const revision = await helm.revision();
  await cluster.kubectl("replace", "-f", join(import.meta.dirname, "../fixtures/definition-2.2.0.yaml"));

  await helm.upgrade();
  const wanted = parse(readFileSync(join(chart, "crds/mountpoints3podattachments.yaml"), "utf8")) as Definition;
  expect((await definition())?.spec.versions).toEqual(wanted.spec.versions);
  expect((await attachmentsOf(cluster, claim))[0]?.metadata.uid).toBe(attachment?.metadata.uid);
  expect(await cluster.get("clusterrole", "s3-csi-install-kind")).toBeUndefined();
  // With the definition in place there is nothing to run.
  await helm.upgrade();
  expect(await helm.hooks()).not.toContain("install-kind");

  const without = ["mountpointPod.createNamespace=false", "mountpointPod.createPriorityClasses=false"];
  await helm.upgrade(...without.flatMap((value) => ["--set", value]));
  expect((await cluster.get("namespace", "mount-s3"))?.metadata.annotations).toMatchObject(keep);
  expect((await cluster.get("priorityclass", "mount-s3-critical"))?.metadata.annotations).toMatchObject(keep);
  await expect(helm.upgrade("--set", "mountpointPod.namespace=elsewhere")).rejects.toThrow(
    "mountpointPod.namespace cannot change from mount-s3 to elsewhere while Mountpoint Pods run in mount-s3",
  );

  await helm.rollback(revision);
  await goesOn(cluster, pod);
});

it.for(pruningTools)(
  "PF-1 %s prunes what values turn off: namespace, classes and the mounts of a writing Pod stay",
  async (tool) => {
    await using sandbox = await cluster.sandbox();
    await putBlocks(sandbox);
    const claim = await sandbox.volume({ mountOptions: ["allow-delete"] });
    const pod = await sandbox.pod("app", { node, claim, command: live });
    await cluster.untilReady(pod);
    const without = { "mountpointPod.createNamespace": "false", "mountpointPod.createPriorityClasses": "false" };
    const left = await prune(cluster, tool, [render(), render(without)]);
    expect(left.toSorted()).toEqual([
      "Namespace mount-s3",
      ...["critical", "headroom", "preempting"].map((name) => `PriorityClass mount-s3-${name}`),
    ]);
    await expect(cluster.kubectl("delete", "namespace", "mount-s3")).rejects.toThrow("allow-deletion=true");
    await goesOn(cluster, pod);
    await cluster.untilReady(await sandbox.pod("next", { node, claim: await sandbox.volume() }));
  },
);

it("CH-4 a second release fits beside the first, with a namespace that exists", async ({ onTestFinished }) => {
  await using sandbox = await cluster.sandbox();
  const second = ["--namespace", sandbox.name];
  const values = [
    "releaseScopedNames=true",
    "csiDriver.create=false",
    "controller.replicas=0",
    "node.nodeSelector.nowhere=yes",
    "mountpointPod.createPriorityClasses=false",
    "mountpointPod.createNamespace=false",
    `mountpointPod.namespace=${sandbox.name}`,
  ];
  onTestFinished(async () => void (await cluster.kubectl("delete", "namespace", sandbox.name, "--ignore-not-found")));
  await helm.run("install", "second", chart, ...second, ...values.flatMap((value) => ["--set", value]));
  expect(await cluster.get("clusterrole", "second-s3-csi-driver-cluster-role")).toBeDefined();
  await helm.run("uninstall", "second", ...second);
  expect(await cluster.get("clusterrole", "second-s3-csi-driver-cluster-role")).toBeUndefined();
  expect(await cluster.get("clusterrole", "s3-csi-driver-cluster-role")).toBeDefined();
  expect(await cluster.get("priorityclass", "mount-s3-critical")).toBeDefined();
});

it("SE-5 a Mountpoint Pod has nothing to write to, no token, and lives under the restricted profile", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  await cluster.untilReady(await sandbox.pod("app", { node, claim }));
  const { name } = await mountS3Of(cluster, node, claim);
  const inside = { namespace: "mount-s3", name };
  const profile = { "pod-security.kubernetes.io/enforce": "restricted" };
  expect((await cluster.get("namespace", "mount-s3"))?.metadata.labels).toMatchObject(profile);
  for (const directory of ["/", "/opt", "/mountpoint-s3/bin", "/etc"]) {
    expect(await cluster.exec(inside, `touch ${directory}/x 2>&1 || true`)).toContain("Read-only file system");
  }
  expect(await cluster.exec(inside, "ls /var/run/secrets/kubernetes.io 2>&1 || true")).toContain("No such file");
  expect(await cluster.exec(inside, "grep -E 'CapEff|CapBnd|NoNewPrivs|^Seccomp:' /proc/1/status")).toBe(
    "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n",
  );
  expect((await cluster.exec(inside, "id -u")).trim()).toBe("1000");
});

it("OP-1 one version: package, chart, image, labels, program, plugin info, user agent", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  await cluster.untilReady(await sandbox.pod("app", { node, claim }));
  const { name, pid } = await mountS3Of(cluster, node, claim);
  const mountpointPod = await cluster.get<Pod & { spec: { containers: { image: string }[] } }>(
    "pod",
    name,
    "-n",
    "mount-s3",
  );
  expect(mountpointPod?.metadata.labels).toMatchObject({
    "s3.csi.scality.com/mounted-by-csi-driver-version": version,
    "s3.csi.scality.com/mountpoint-version": expect.stringMatching(/^\d+\.\d+\.\d+/),
  });
  const image = `ghcr.io/scality/mountpoint-s3-csi-driver:v${version}`;
  expect(mountpointPod?.spec.containers[0]?.image).toBe(image);
  const installed = ["daemonset/s3-csi-node", "deployment/s3-csi-controller"];
  for (const object of installed) {
    const { metadata, spec } = (await cluster.get<Workload>(object, "-n", driverNamespace)) as Workload;
    expect(metadata.labels).toMatchObject({
      "app.kubernetes.io/version": version,
      "helm.sh/chart": `scality-mountpoint-s3-csi-driver-${version}`,
    });
    const own = spec.template.spec.containers.filter((one) => one.name.startsWith("s3-"));
    for (const one of own) expect(one.image).toBe(image);
  }
  const [plugin] = await cluster.list<Pod>("pods", "-n", driverNamespace, "-l", "app=s3-csi-node");
  const program = ["--", "/bin/scality-s3-csi-driver", "--version"];
  const said = await cluster.kubectl("exec", "-n", driverNamespace, plugin?.metadata.name ?? "", ...program);
  expect(JSON.parse(said)).toMatchObject({ driverVersion: version });
  using driver = csiClient(IdentityService, csiSocketOf(cluster, node));
  expect(await driver.getPluginInfo({})).toMatchObject({ vendorVersion: version });
  expect(await onNode(cluster, node, "cat", `/proc/${pid}/cmdline`)).toContain(`s3-csi-driver/${version} `);
});

it("CH-1, WM-1 an uninstallation waits for unmounts, is refused while a Pod uses a volume, and leaves the definition, the namespace and the classes, and no Mountpoint Pod that waits", async () => {
  await using sandbox = await cluster.sandbox();
  await putBlocks(sandbox);
  const claim = await sandbox.volume({ mountOptions: ["allow-delete"] });
  const pod = await sandbox.pod("app", { node, claim, command: live });
  await cluster.untilReady(pod);
  await helm.upgrade("--set", "cleanupCRDOnUninstall=true", "--set", "mountpointPod.warm.perNode=1");
  const waiting = await untilWarmOn(cluster, node);

  await expect(helm.uninstall()).rejects.toThrow("s3-csi-remove-mounts");
  const log = await cluster.kubectl("logs", "-n", driverNamespace, "job/s3-csi-remove-mounts");
  expect(log).toContain(`S3 volumes are in use by ${sandbox.name}/app`);
  expect(log).toContain("Delete these Pods first");
  await goesOn(cluster, pod);
  expect((await warmOn(cluster, node)).map(({ name }) => name)).toEqual([waiting.name]);

  await cluster.deletePod(pod);
  await helm.uninstall();
  expect(await cluster.list("pods", "-n", "mount-s3")).toEqual([]);
  expect(await onNode(cluster, node, "grep", "-c", "mountpoint-s3", "/proc/1/mountinfo").catch(() => "0")).toContain(
    "0",
  );
  expect(await cluster.list("s3pa")).toEqual([]);
  expect(await definition()).toBeDefined();
  expect((await cluster.get("namespace", "mount-s3"))?.metadata.deletionTimestamp).toBeUndefined();
  expect(await cluster.get("priorityclass", "mount-s3-critical")).toBeDefined();
  const kinds =
    "deployment,daemonset,serviceaccount,role,rolebinding,clusterrole,clusterrolebinding,csidriver,job," +
    "validatingadmissionpolicy,validatingadmissionpolicybinding";
  const left = await cluster.list(kinds, "-A", "-l", "app.kubernetes.io/name=scality-mountpoint-s3-csi-driver");
  expect(left.map(({ metadata }) => metadata.name)).toEqual([]);

  // With the policy gone the namespace can be deleted, too; or it stays, and the next installation takes it over. The API server applies a
  // policy until its watch has shown the deletion.
  const deletion = () => cluster.kubectl("delete", "namespace", "mount-s3", "--dry-run=server");
  await vi.waitFor(deletion, { timeout: 240_000, interval: 200 });
  await helm.asUsual();
  await cluster.untilReady(await sandbox.pod("again", { node, claim }));
});

const keep = { "helm.sh/resource-policy": "keep" };

interface Definition extends KubeObject {
  readonly spec: { readonly versions: readonly object[] };
}

const definition = () => cluster.get<Definition>("crd", definitionName);

interface Workload extends KubeObject {
  readonly spec: { readonly template: { readonly spec: { readonly containers: { name: string; image: string }[] } } };
}
