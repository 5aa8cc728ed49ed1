/** What the chart's hooks run, as a process with the rights that the chart gives them. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import type { KubeObject } from "../../src/kube/kinds.ts";
import { chartDirectory, type Manifest, only, releaseNamespace, render, repository } from "../chart/rendered-chart.ts";
import { openCluster } from "../support/cluster.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { described, requestsOf, rightsIn, unusedRights } from "../support/rights.ts";
import { installAttachmentKind, isMarked, long, Stage } from "../support/stage.ts";

const cluster = openCluster();
const definitionName = "mountpoints3podattachments.s3.csi.scality.com";
const accessKinds = new Set(["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]);

let stage: Stage;
let directory: string;
let access: readonly Manifest[];

beforeAll(async () => {
  await installAttachmentKind(cluster);
  stage = await Stage.open(cluster);
  directory = await mkdtemp(join(tmpdir(), "s3-csi-setup-"));
  // An upgrade that finds no definition: the rendering sees no cluster.
  const values = { "mountpointPod.namespace": stage.mountpointNamespace, cleanupCRDOnUninstall: "true" };
  const hooks = render(values, chartDirectory, ["--is-upgrade"]).filter(
    ({ kind, metadata }) => accessKinds.has(kind) && /install-kind|remove-mounts/.test(metadata.name),
  );
  access = hooks;
  await cluster.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: releaseNamespace } }, ...hooks);
});

afterAll(async () => {
  for (const { kind, metadata } of access) {
    const namespace = metadata.namespace === undefined ? [] : ["-n", metadata.namespace];
    await cluster.kubectl("delete", kind, metadata.name, ...namespace, "--ignore-not-found");
  }
  await cluster.kubectl("delete", "namespace", releaseNamespace, "--wait=true");
  await rm(directory, { recursive: true });
  await stage[Symbol.asyncDispose]();
});

it("CH-6, SE-2 brings the definition of 2.2.0 up to date; objects stay, and the definition is that of kubectl apply -k", async () => {
  await using _reconciler = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const { workload } = await stage.running("kept", claim);
  const [before] = await stage.attachments();
  await cluster.kubectl("replace", "-f", join(repository, "test/fixtures/definition-2.2.0.yaml"));
  expect(await versions()).not.toEqual(await wantedVersions());

  expect(await setup("s3-csi-install-kind", "install-kind", `--definition=${await definitionFile()}`)).toMatchObject({
    code: 0,
  });
  expect(await versions()).toEqual(await wantedVersions());
  const [after] = await stage.attachments();
  expect(after?.metadata.uid).toBe(before?.metadata.uid);
  expect(await cluster.kubectl("apply", "-k", repository)).toContain(definitionName);
  expect(await versions()).toEqual(await wantedVersions());
  await stage.deletePod(workload);
  await expect.poll(async () => (await stage.mountpointPods()).map(isMarked), long).toEqual([true]);
  await expect.poll(gone, long).toBe(true);
  // Where no definition is found, as after 1.x, it is created.
  expect(unused("s3-csi-install-kind")).toEqual(["create customresourcedefinitions.apiextensions.k8s.io"]);
});

it("CH-1, SE-2 refuses while a workload uses a volume, then marks, waits and removes, and leaves others alone", async () => {
  const mounted = await (async () => {
    await using _reconciler = await ReconcilerProcess.start(stage);
    return await stage.running("app", await stage.volume());
  })();
  const foreign = await stage.workload("foreign", { namespace: stage.mountpointNamespace });
  const namespace = `--mountpoint-namespace=${stage.mountpointNamespace}`;

  const refused = await setup("s3-csi-remove-mounts", "remove-mounts", namespace);
  expect(refused.code).toBe(1);
  expect(refused.log).toContain(`S3 volumes are in use by ${stage.name}/app`);
  expect(refused.log).toContain("Delete these Pods first");
  expect(await stage.attachments()).toHaveLength(1);
  expect(isMarked((await stage.mountpointPod(mounted.mountpointPod.metadata.name)) ?? foreign)).toBe(false);

  await stage.deletePod(mounted.workload);
  const removal = setup("s3-csi-remove-mounts", "remove-mounts", namespace);
  await expect
    .poll(async () => isMarked((await stage.mountpointPod(mounted.mountpointPod.metadata.name)) ?? foreign), long)
    .toBe(true);
  expect((await stage.mountpointPod(mounted.mountpointPod.metadata.name))?.metadata.deletionTimestamp).toBeUndefined();
  await stage.phase(mounted.mountpointPod, "Succeeded");
  expect(await removal).toMatchObject({ code: 0 });
  expect(await stage.attachments()).toEqual([]);
  expect((await stage.mountpointPods()).map(({ metadata }) => metadata.name)).toEqual(["foreign"]);
  expect(await cluster.get("crd", definitionName)).toBeDefined();
  expect(unused("s3-csi-remove-mounts")).toEqual([]);
});

it("CH-1 gives up with the names of those that do not unmount", async () => {
  const { workload, mountpointPod } = await (async () => {
    await using _reconciler = await ReconcilerProcess.start(stage);
    return await stage.running("stuck", await stage.volume());
  })();
  await stage.deletePod(workload);
  const namespace = `--mountpoint-namespace=${stage.mountpointNamespace}`;
  const { code, log } = await setup("s3-csi-remove-mounts", "remove-mounts", namespace, "--limit-seconds=3");
  expect(code).toBe(1);
  expect(log).toContain("waiting for Mountpoint Pods to unmount");
  expect(log).toContain(mountpointPod.metadata.name);
  expect(await stage.mountpointPod(mountpointPod.metadata.name)).toBeDefined();
});

/** Rights of a hook's account that it has not used yet. */
function unused(account: string): readonly string[] {
  const subject = { namespace: releaseNamespace, name: account };
  return unusedRights(rightsIn(access, subject), requestsOf(cluster, subject)).map(described);
}

interface Definition extends KubeObject {
  readonly spec: { readonly versions: readonly object[] };
}

const versions = async () => (await cluster.get<Definition>("crd", definitionName))?.spec.versions;

async function wanted(): Promise<Definition> {
  return parse(await readFile(join(chartDirectory, "crds/mountpoints3podattachments.yaml"), "utf8")) as Definition;
}

const wantedVersions = async () => (await wanted()).spec.versions;

/** As the chart puts it into the ConfigMap of the hook. */
async function definitionFile(): Promise<string> {
  const configMap = only(render({}, chartDirectory, ["--is-upgrade"]), "ConfigMap", "s3-csi-install-kind");
  const file = join(directory, "definition.json");
  await writeFile(file, configMap["data"]["definition.json"]);
  return file;
}

/** Ends what is marked, as kubelet would. */
async function gone(): Promise<boolean> {
  await stage.playKubelet();
  return (await stage.mountpointPods()).length === 0;
}

interface Finished {
  readonly code: number;
  readonly log: string;
}

/** The program with a login as the hook's account. */
async function setup(account: string, ...args: readonly string[]): Promise<Finished> {
  const token = (await cluster.kubectl("create", "token", account, "-n", releaseNamespace)).trim();
  const admin = JSON.parse(await readFile(cluster.lab.layout.kubeconfig, "utf8")) as { users: [{ name: string }] };
  const kubeconfig = join(directory, `${account}.json`);
  await writeFile(kubeconfig, JSON.stringify({ ...admin, users: [{ name: admin.users[0].name, user: { token } }] }));
  const argv = [join(repository, "src/bin/setup.ts"), ...args, `--kubeconfig=${kubeconfig}`];
  return new Promise((done) => {
    execFile(process.execPath, argv, { encoding: "utf8" }, (error, _stdout, log) => {
      done({ code: error === null ? 0 : Number(error.code), log });
    });
  });
}
