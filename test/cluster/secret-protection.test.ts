/** The Secrets that the deletion of volumes needs: kept as long as there is such a volume, and no longer. */
import { randomBytes } from "node:crypto";
import { status } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { rootAccount, s3Endpoint } from "../../lab/s3.ts";
import { failurePattern } from "../../src/core/failures/call-failures.ts";
import { secretFinalizer } from "../../src/core/names.ts";
import { recordKey, recordText, type SecretKey } from "../../src/core/protected-secrets.ts";
import { locationFor } from "../../src/csi-controller/domain/bucket-location.ts";
import { type ConfigMap, kinds } from "../../src/kube/kinds.ts";
import { only, releaseNamespace, render } from "../chart/rendered-chart.ts";
import { ChartAccess } from "../support/chart-access.ts";
import { bucketNames, patient, secretFor } from "../support/claims.ts";
import { openCluster, persistentVolumeManifest } from "../support/cluster.ts";
import { createRequest } from "../support/create-request.ts";
import { type CsiControllerOptions, CsiControllerProcess } from "../support/csi-controller-process.ts";
import { restrictedAccount } from "../support/restricted-account.ts";
import { madeUpKeys, secretFields, secretManifest } from "../support/s3-accounts.ts";
import { releaseSecretsJob } from "../support/setup-job.ts";
import { installAttachmentKind, Stage } from "../support/stage.ts";

const cluster = openCluster();
const configMap = "s3-csi-protected-secrets";
const nowhere = "http://127.0.0.1:9";
/** Where csi-provisioner notes which Secret it will need. */
const deletionSecret = "volume.kubernetes.io/provisioner-deletion-secret";

let stage: Stage;
let access: ChartAccess;
let undo = new AsyncDisposableStack();

beforeAll(async () => {
  await installAttachmentKind(cluster);
  stage = await Stage.open(cluster);
  access = await ChartAccess.apply(stage);
  await applyRecords();
  // The API server learns of rights in its own time.
  await vi.waitFor(async () => {
    const answer = await access.can("controller", "patch", "secrets", "everywhere");
    if (answer !== "yes") throw new Error("not in force yet");
  }, patient);
});

afterAll(async () => {
  await cluster.kubectl("delete", "configmap", configMap, "-n", releaseNamespace);
  await access[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

afterEach(async () => {
  await undo[Symbol.asyncDispose]();
  undo = new AsyncDisposableStack();
});

it("PR-11 a Secret is kept from before the bucket is made until its last volume is gone", async () => {
  const { secret, parameters } = await claimWithSecret();
  await using service = await start();
  const first = await created(service, { parameters, secret });
  const second = await created(service, { parameters, secret });
  expect(await finalizersOf(secret)).toEqual([secretFinalizer]);
  await volumeFor(first, secret);
  await volumeFor(second, secret);
  await cluster.kubectl("delete", "secret", nameOf(secret), "-n", stage.name, "--wait=false");
  await cluster.kubectl("delete", "pv", first.name);
  await service.controller.deleteVolume({ volumeId: first.id, secrets: secretFields(rootAccount) });
  expect(await finalizersOf(secret)).toEqual([secretFinalizer]);
  await cluster.kubectl("delete", "pv", second.name);
  await expect.poll(() => finalizersOf(secret), patient).toBeUndefined();
  await expect.poll(records, patient).not.toContain(secret);
  expect(service.log).not.toMatch(/forbidden/i);
});

it("PR-11 a volume that may have been made keeps the Secret, one that certainly was not does not", async () => {
  const { secret, parameters } = await claimWithSecret();
  {
    await using cut = await start({ s3: nowhere });
    const request = createRequest({ parameters, secrets: secretFields(rootAccount) });
    await expect(cut.controller.createVolume(request)).rejects.toMatchObject({ code: status.UNAVAILABLE });
    expect(await finalizersOf(secret)).toEqual([secretFinalizer]);
  }
  await write(secret, null);
  await using service = await start();
  const request = createRequest({ parameters, secrets: secretFields(madeUpKeys()) });
  await expect(service.controller.createVolume(request)).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
  await expect.poll(() => finalizersOf(secret), patient).toEqual([]);
  await expect.poll(records, patient).not.toContain(secret);
});

it("PR-11 a volume without its PersistentVolume yet keeps the Secret, also when another volume of it goes", async () => {
  const { secret, parameters } = await claimWithSecret();
  await using service = await start();
  const known = await created(service, { parameters, secret });
  await volumeFor(known, secret);
  const pending = await created(service, { parameters, secret });
  await cluster.kubectl("delete", "pv", known.name);
  // The release of another Secret shows that the look at all of them is over.
  const other = await claimWithSecret();
  const gone = await created(service, other);
  await volumeFor(gone, other.secret);
  await cluster.kubectl("delete", "pv", gone.name);
  await expect.poll(() => finalizersOf(other.secret), patient).toEqual([]);
  expect(await finalizersOf(secret)).toEqual([secretFinalizer]);
  await volumeFor(pending, secret);
  await cluster.kubectl("delete", "pv", pending.name);
  await expect.poll(() => finalizersOf(secret), patient).toEqual([]);
});

it("PR-11 what a killed service left is put right by the next one: protected if a volume needs it, released if none does", async () => {
  const orphaned = await newSecret({ finalizers: [secretFinalizer] });
  const recent = await newSecret({ finalizers: [secretFinalizer] });
  const unprotected = await newSecret();
  await volumeFor(volumeNamed(`pvc-${randomBytes(8).toString("hex")}`), unprotected);
  const hourAgo = new Date(Date.now() - 3_600_000);
  await write(orphaned, { at: hourAgo, by: "predecessor" });
  // Its CreateVolume may just have been answered, and csi-provisioner may be about to make the PersistentVolume.
  await write(recent, { at: new Date(), by: "predecessor" });
  await using _service = await start();
  await expect.poll(() => finalizersOf(unprotected), patient).toEqual([secretFinalizer]);
  await expect.poll(() => finalizersOf(orphaned), patient).toEqual([]);
  await expect.poll(records, patient).not.toContain(orphaned);
  expect(await records()).toContain(unprotected);
  expect(await finalizersOf(recent)).toEqual([secretFinalizer]);
  await write(recent, null);
});

it.for([
  ["whose data is retained", { attributes: { deletePolicy: "retain" } }],
  ["that Kubernetes never asks to delete", { reclaimPolicy: "Retain" }],
] as const)("PR-11 a volume %s needs no Secret, and keeps none", async ([, options]) => {
  const secret = await newSecret();
  const needed = await newSecret();
  await volumeFor(volumeNamed(`pvc-${randomBytes(8).toString("hex")}`), secret, options);
  await volumeFor(volumeNamed(`pvc-${randomBytes(8).toString("hex")}`), needed);
  await using _service = await start();
  await expect.poll(() => finalizersOf(needed), patient).toEqual([secretFinalizer]);
  expect(await finalizersOf(secret)).toEqual([]);
});

it("PR-11 a retained volume is deleted without its Secret, and its data stays", async () => {
  const volume = volumeNamed(`pvc-${randomBytes(8).toString("hex")}`);
  await cluster.makeBucket(volume.id);
  undo.defer(() => cluster.removeBucket(volume.id));
  await volumeFor(volume, "gone/gone", { attributes: { deletePolicy: "retain" } });
  await using service = await start();
  await service.controller.deleteVolume({ volumeId: volume.id, secrets: {} });
  expect(await bucketNames(cluster.s3)).toContain(volume.id);
});

it("PR-11, OP-4 no bucket is created with a Secret that is being deleted, and the text names the fix", async () => {
  const { secret, parameters } = await claimWithSecret();
  const [namespace = "", name = ""] = secret.split("/");
  const held = JSON.stringify({ metadata: { finalizers: ["example.com/held"] } });
  await cluster.kubectl("patch", "secret", name, "-n", namespace, "--type=merge", "-p", held);
  await cluster.kubectl("delete", "secret", name, "-n", namespace, "--wait=false");
  await using service = await start();
  const request = createRequest({ parameters, secrets: secretFields(rootAccount) });
  const refused = service.controller.createVolume(request);
  await expect(refused).rejects.toMatchObject({ details: expect.stringContaining("Create the Secret again") });
  await expect(refused).rejects.toThrow(failurePattern("secretBeingDeleted"));
  expect(await bucketNames(cluster.s3)).not.toContain(volumeNamed(request.name).id);
});

it("PR-11 without the rights for it, volumes are made all the same", async () => {
  const { secret, parameters } = await claimWithSecret();
  const kubeconfig = await restrictedAccount(stage, "secrets");
  const flags = [`--kubeconfig=${kubeconfig}`, `--protected-secrets=${releaseNamespace}/${configMap}`];
  await using service = await CsiControllerProcess.start(cluster, { s3: s3Endpoint, flags });
  await created(service, { parameters, secret });
  expect(await finalizersOf(secret)).toEqual([]);
  expect(service.log).toContain("failed to protect the Secret of a volume");
});

it("PR-11, CH-1 the Job of the chart releases every Secret, and from then on none is protected", async () => {
  const { secret, parameters } = await claimWithSecret();
  await using service = await start();
  const volume = await created(service, { parameters, secret });
  await volumeFor(volume, secret);
  expect(await releaseSecretsJob(access, configMap)).toBe(0);
  expect(await finalizersOf(secret)).toEqual([]);
  expect(await records()).toEqual([]);
  const next = await claimWithSecret();
  await created(service, next);
  expect(await finalizersOf(next.secret)).toEqual([]);
  // As after an uninstallation that was refused, and the upgrade that follows: a service that runs on protects again.
  await applyRecords();
  const another = await claimWithSecret();
  await volumeFor(await created(service, another), another.secret);
  await expect.poll(() => finalizersOf(secret), patient).toEqual([secretFinalizer]);
  await expect.poll(records, patient).toContain(secret);
});

it("PR-11 the Job releases nothing where all objects were applied at once, without Helm", async () => {
  const secret = await newSecret({ finalizers: [secretFinalizer] });
  await write(secret, { at: new Date(), by: "somebody" });
  await cluster.kubectl("annotate", "configmap", configMap, "-n", releaseNamespace, "meta.helm.sh/release-name-");
  expect(await releaseSecretsJob(access, configMap)).toBe(0);
  expect(await finalizersOf(secret)).toEqual([secretFinalizer]);
  await applyRecords();
  await write(secret, null);
});

it("PR-11 a finalizer whose record is lost is removed by the service that set it, and by the Job", async () => {
  const first = await claimWithSecret();
  await using service = await start();
  const volume = await created(service, first);
  await volumeFor(volume, first.secret);
  await write(first.secret, null);
  await cluster.kubectl("delete", "pv", volume.name);
  await expect.poll(() => finalizersOf(first.secret), patient).toEqual([]);
  await service.kill();
  const unrecorded = await newSecret({ finalizers: [secretFinalizer] });
  await volumeFor(volumeNamed(`pvc-${randomBytes(8).toString("hex")}`), unrecorded);
  expect(await releaseSecretsJob(access, configMap)).toBe(0);
  expect(await finalizersOf(unrecorded)).toEqual([]);
  await applyRecords();
});

const noFinalizers = JSON.stringify({ metadata: { finalizers: null } });

/** The ConfigMap as Helm makes it. */
async function applyRecords(): Promise<void> {
  const { metadata, ...rest } = only(render(), "ConfigMap", configMap);
  await cluster.apply({ ...rest, metadata: { ...metadata, annotations: { "meta.helm.sh/release-name": "release" } } });
}

/** With the rights of the chart. */
async function start(options: Partial<CsiControllerOptions> = {}): Promise<CsiControllerProcess> {
  const kubeconfig = await access.kubeconfigOf("controller");
  const flags = [`--kubeconfig=${kubeconfig}`, `--protected-secrets=${releaseNamespace}/${configMap}`];
  return await CsiControllerProcess.start(cluster, { s3: s3Endpoint, flags, ...options });
}

async function newSecret({ finalizers }: { finalizers?: readonly string[] } = {}): Promise<SecretKey> {
  const name = `s-${randomBytes(4).toString("hex")}`;
  const manifest = secretManifest({ namespace: stage.name, name }, rootAccount);
  await cluster.apply({ ...manifest, metadata: { ...manifest.metadata, finalizers } });
  const secret: SecretKey = `${stage.name}/${name}`;
  undo.defer(async () => {
    if ((await finalizersOf(secret)) === undefined) return;
    await cluster.kubectl("patch", "secret", name, "-n", stage.name, "--type=merge", "-p", noFinalizers);
    await cluster.kubectl("delete", "secret", name, "-n", stage.name, "--ignore-not-found");
  });
  return secret;
}

/** A claim that nobody serves, of a class that names a Secret by the claim's annotation; with what csi-provisioner tells of it. */
async function claimWithSecret() {
  const secret = await newSecret();
  const name = nameOf(secret);
  await cluster.apply(
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name },
      provisioner: "s3.csi.scality.com",
      volumeBindingMode: "WaitForFirstConsumer",
      parameters: secretFor("provisioner", "${pvc.annotations['example.com/secret']}", "${pvc.namespace}"),
    },
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name, namespace: stage.name, annotations: { "example.com/secret": name } },
      spec: {
        storageClassName: name,
        accessModes: ["ReadWriteMany"],
        resources: { requests: { storage: "1Gi" } },
      },
    },
  );
  undo.defer(async () => {
    await cluster.kubectl("delete", "pvc", name, "-n", stage.name);
    await cluster.kubectl("delete", "storageclass", name);
  });
  const parameters = { "csi.storage.k8s.io/pvc/name": name, "csi.storage.k8s.io/pvc/namespace": stage.name };
  return { secret, parameters };
}

interface MadeVolume {
  readonly name: string;
  readonly id: string;
}

function volumeNamed(name: string): MadeVolume {
  return { name, id: locationFor(name, { kind: "own" }).volumeId };
}

/** By CreateVolume, once the service knows the class of the claim. */
async function created(
  { controller }: CsiControllerProcess,
  { parameters }: { readonly parameters: Readonly<Record<string, string>>; readonly secret: SecretKey },
): Promise<MadeVolume> {
  const request = createRequest({ parameters, secrets: secretFields(rootAccount) });
  await controller.createVolume(request);
  const volume = volumeNamed(request.name);
  undo.defer(async () => {
    if ((await bucketNames(cluster.s3)).includes(volume.id)) await cluster.removeBucket(volume.id);
  });
  return volume;
}

/** As csi-provisioner makes it. */
async function volumeFor(
  { name, id }: MadeVolume,
  secret: SecretKey,
  options: { readonly attributes?: Readonly<Record<string, string>>; readonly reclaimPolicy?: string } = {},
): Promise<void> {
  const [namespace = "", secretName = ""] = secret.split("/");
  const { spec, ...rest } = persistentVolumeManifest({ namespace: stage.name, name }, id, {
    csi: { volumeHandle: id },
    ...(options.attributes && { attributes: options.attributes }),
  });
  await cluster.apply({
    ...rest,
    metadata: {
      name,
      annotations: { [`${deletionSecret}-name`]: secretName, [`${deletionSecret}-namespace`]: namespace },
    },
    spec: { ...spec, persistentVolumeReclaimPolicy: options.reclaimPolicy ?? "Delete" },
  });
  undo.defer(async () => void (await cluster.kubectl("delete", "pv", name, "--ignore-not-found")));
}

/** undefined: there is no such Secret. */
async function finalizersOf(secret: SecretKey): Promise<readonly string[] | undefined> {
  const found = await cluster.get("secret", nameOf(secret), "-n", stage.name);
  return found && (found.metadata.finalizers ?? []);
}

async function records(): Promise<readonly string[]> {
  const { data = {} } = (await cluster.get<ConfigMap>("configmap", configMap, "-n", releaseNamespace)) ?? {};
  return Object.values(data).flatMap((text) => (text.includes("/") ? [text.split(" ")[0] ?? ""] : []));
}

/** null forgets the Secret. */
async function write(secret: SecretKey, record: { readonly at: Date; readonly by: string } | null): Promise<void> {
  const data = { [recordKey(secret)]: record && recordText({ secret, ...record }) };
  await stage.client.patch(stage.call, kinds.configMaps, { namespace: releaseNamespace, name: configMap }, { data });
}

function nameOf(secret: SecretKey): string {
  return secret.split("/")[1] ?? "";
}
