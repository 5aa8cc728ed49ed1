/** Provisioning while something is broken: the store, the keys, or the provisioning programs themselves. */
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, it } from "vitest";
import { rootAccount, tenantAccount } from "../../lab/s3.ts";
import { failurePattern } from "../../src/core/failures/call-failures.ts";
import { locationFor } from "../../src/csi-controller/domain/bucket-location.ts";
import type { CoreEvent, Pod } from "../../src/kube/kinds.ts";
import { bucketNames, Claims, eventsAbout, patient, type SecretUse, secretFor } from "../support/claims.ts";
import { openCluster, persistentVolumeManifest, type Sandbox } from "../support/cluster.ts";
import { controllerAway } from "../support/controller-away.ts";
import { installedWith } from "../support/installed-with.ts";
import { onNode } from "../support/mount-s3-process.ts";
import { secretManifest } from "../support/s3-accounts.ts";

const cluster = openCluster();
const { s3 } = cluster;
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await cluster.sandbox();
});

afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

it("DS-2 the store is down while one claim comes and another goes: both wait with an event, and both get on when it is back", async () => {
  await using claims = await Claims.ofClass(sandbox);
  const going = await claims.volume("going");
  const server = cluster.lab.component("versitygw");
  await server.kill(AbortSignal.timeout(60_000));
  try {
    await claims.claim("coming");
    await claims.deleteClaim("going");
    await expect
      .poll(() => messagesAbout("coming", sandbox.name), patient)
      .toMatch(/Unavailable.*could not create bucket/s);
    await expect
      .poll(() => messagesAbout(going.metadata.name), patient)
      .toMatch(/Unavailable.*could not read the tags of bucket/s);
    expect(await cluster.get("pv", going.metadata.name)).toBeDefined();
  } finally {
    await server.start(AbortSignal.timeout(60_000));
  }
  const coming = await claims.bound("coming");
  await cluster.kubectl("wait", "--for=delete", `pv/${going.metadata.name}`, "--timeout=240s");
  const left = await bucketNames(s3);
  expect(left).toContain(coming.spec.csi.volumeHandle);
  expect(left).not.toContain(going.spec.csi.volumeHandle);
});

it("DS-2 a Secret that is missing, then right, then revoked: the claim waits, binds, and its volume stays until the keys are good again", async () => {
  const secretName = "keys";
  const use = (kind: SecretUse) => secretFor(kind, secretName, sandbox.name);
  await using claims = await Claims.ofClass(sandbox, { parameters: { ...use("provisioner"), ...use("node-publish") } });
  await claims.claim("kept-out");
  await expect.poll(() => messagesAbout("kept-out", sandbox.name), patient).toMatch(failurePattern("secretNotFound"));
  const give = (secretAccessKey: string) =>
    cluster.apply(secretManifest({ name: secretName, namespace: sandbox.name }, { ...tenantAccount, secretAccessKey }));
  await give(tenantAccount.secretAccessKey);
  const volume = await claims.bound("kept-out");
  await give(rootAccount.secretAccessKey);
  await claims.deleteClaim("kept-out");
  await expect.poll(() => messagesAbout(volume.metadata.name), patient).toMatch(/Unauthenticated/);
  expect(await bucketNames(s3)).toContain(volume.spec.csi.volumeHandle);
  await give(tenantAccount.secretAccessKey);
  await cluster.kubectl("wait", "--for=delete", `pv/${volume.metadata.name}`, "--timeout=240s");
  expect(await bucketNames(s3)).not.toContain(volume.spec.csi.volumeHandle);
});

it("DS-2, PR-10 a Secret that is empty, then filled, then gone: nothing is created or deleted with the driver's credentials", async () => {
  const keys = { namespace: sandbox.name, name: "hollow" };
  const use = (kind: SecretUse) => secretFor(kind, keys.name, "${pvc.namespace}");
  await using claims = await Claims.ofClass(sandbox, { parameters: { ...use("provisioner"), ...use("node-publish") } });
  await cluster.apply({ apiVersion: "v1", kind: "Secret", metadata: keys });
  await claims.claim("hollow");
  await expect
    .poll(() => messagesAbout("hollow", sandbox.name), patient)
    .toMatch(new RegExp(`InvalidArgument.*access_key_id in Secret ${sandbox.name}/hollow is missing or empty`));
  await cluster.apply(secretManifest(keys, tenantAccount));
  const volume = await claims.bound("hollow");
  expect(volume.spec.csi.volumeAttributes).toMatchObject({ authenticationSource: "secret" });
  // By force: it is kept while the volume needs it (PR-11).
  await cluster.kubectl("delete", "secret", keys.name, "-n", keys.namespace, "--wait=false");
  const noFinalizers = JSON.stringify({ metadata: { finalizers: null } });
  await cluster.kubectl("patch", "secret", keys.name, "-n", keys.namespace, "--type=merge", "-p", noFinalizers);
  await claims.deleteClaim("hollow");
  await expect
    .poll(() => messagesAbout(volume.metadata.name), patient)
    .toMatch(new RegExp(`InvalidArgument.*Secret ${sandbox.name}/hollow of PersistentVolume .* does not exist`));
  expect(await bucketNames(s3)).toContain(volume.spec.csi.volumeHandle);
  await cluster.apply(secretManifest(keys, tenantAccount));
  await cluster.kubectl("wait", "--for=delete", `pv/${volume.metadata.name}`, "--timeout=240s");
  expect(await bucketNames(s3)).not.toContain(volume.spec.csi.volumeHandle);
});

it("DS-2, DS-4 controller and provisioner are killed while claims come and go: in the end each claim has one bucket, and there is no other", async () => {
  const before = await bucketNames(s3);
  await using claims = await Claims.ofClass(sandbox);
  await using purged = await Claims.ofClass(sandbox, { parameters: { deletePolicy: "purge" } });
  const leaving = Array.from({ length: 4 }, (_, index) => `leaving-${index}`);
  const gone = await Promise.all(leaving.map((name) => purged.volume(name)));
  for (const { spec } of gone) {
    await s3.send(new PutObjectCommand({ Bucket: spec.csi.volumeHandle, Key: "a", Body: "a" }));
  }
  const names = Array.from({ length: 6 }, (_, index) => `during-${index}`);
  const making = Promise.all(names.map((name) => claims.claim(name)));
  const removing = Promise.all(leaving.map((name) => purged.deleteClaim(name)));
  const all = (await bucketNames(s3)).toSorted();
  await expect.poll(async () => (await bucketNames(s3)).toSorted(), { ...patient, interval: 20 }).not.toEqual(all);
  await Promise.all([killContainer("/opt/s3-csi/controller.mjs"), killContainer("csi-provisioner")]);
  const uids = await making;
  await removing;
  const volumes = await Promise.all(names.map((name) => claims.bound(name)));
  for (const { metadata } of gone) {
    await cluster.kubectl("wait", "--for=delete", `pv/${metadata.name}`, "--timeout=240s");
  }
  const made = (await bucketNames(s3)).filter((bucket) => !before.includes(bucket));
  expect(made.toSorted()).toEqual(volumes.map(({ spec }) => spec.csi.volumeHandle).toSorted());
  expect(made.toSorted()).toEqual(uids.map((uid) => locationFor(`pvc-${uid}`, { kind: "own" }).bucket).toSorted());
});

it("DS-4 a claim that is deleted while the provisioner is dead, before it had a volume: its bucket is reported, and stays", async () => {
  await using claims = await Claims.ofClass(sandbox);
  let bucket = "";
  {
    await using _refused = await volumesRefused(sandbox.name);
    bucket = locationFor(`pvc-${await claims.claim("forgotten")}`, { kind: "own" }).bucket;
    await expect.poll(() => bucketNames(s3), patient).toContain(bucket);
    await Promise.all([killContainer("/opt/s3-csi/controller.mjs"), killContainer("csi-provisioner")]);
    await using _away = await controllerAway(cluster);
    await claims.deleteClaim("forgotten");
  }
  const reports = async () =>
    await cluster.list<CoreEvent>(...["events", "-n", "kube-system", "--field-selector", "reason=BucketWithoutVolume"]);
  await expect.poll(reports, patient).toContainEqual(
    expect.objectContaining({
      type: "Warning",
      message: expect.stringContaining(`Bucket ${bucket} was created for claim ${sandbox.name}/forgotten`),
    }),
  );
  expect(await bucketNames(s3)).toContain(bucket);
  await cluster.removeBucket(bucket);
});

it("PR-10 a class with one Secret only: an event on the claim or on the Pod says that the driver's credentials are used", async () => {
  const use = (kind: SecretUse) => secretFor(kind, "half", sandbox.name);
  await cluster.apply(secretManifest({ name: "half", namespace: sandbox.name }, rootAccount));
  await using forMaking = await Claims.ofClass(sandbox, { parameters: use("provisioner") });
  await using forMounting = await Claims.ofClass(sandbox, { parameters: use("node-publish") });
  await Promise.all([forMaking.volume("making"), forMounting.volume("mounting")]);
  const pod = await sandbox.pod("fallen-back", { claim: "making" });
  await cluster.untilReady(pod);
  const ofClaim = await eventsAbout(cluster, "mounting", sandbox.name);
  expect(ofClaim).toContainEqual(expect.objectContaining({ type: "Warning", reason: "DriverCredentialsUsed" }));
  expect(await messagesAbout("mounting", sandbox.name)).toMatch(/The bucket is created with the driver's credentials/);
  await expect
    .poll(() => messagesAbout("fallen-back", sandbox.name), patient)
    .toMatch(/is mounted with the keys of the driver.*nodePublishSecretRef/);
  await cluster.deletePod(pod);
});

it("PR-10 without the fallback to the driver's credentials, such a bucket is neither created nor mounted", async () => {
  const use = (kind: SecretUse) => secretFor(kind, "half-only", sandbox.name);
  await cluster.apply(secretManifest({ name: "half-only", namespace: sandbox.name }, rootAccount));
  await using _installed = await installedWith(cluster, ["s3CredentialSecret.fallback=false"]);
  await using forMaking = await Claims.ofClass(sandbox, { parameters: use("provisioner") });
  await using forMounting = await Claims.ofClass(sandbox, { parameters: use("node-publish") });
  await forMounting.claim("not-made");
  await forMaking.volume("not-mounted");
  const pod = await sandbox.pod("kept-waiting", { claim: "not-mounted" });
  await expect
    .poll(() => messagesAbout("not-made", sandbox.name), patient)
    .toMatch(/InvalidArgument.*the driver's credentials may not be used/);
  await expect
    .poll(() => messagesAbout("kept-waiting", sandbox.name), patient)
    .toMatch(/InvalidArgument.*s3CredentialSecret\.fallback/);
  await cluster.deletePod(pod);
});

/** Until the end of the scope the API server takes no volume for claims of the namespace: whoever makes one gets stuck halfway. */
async function volumesRefused(namespace: string): Promise<AsyncDisposable> {
  const name = `no-volumes-${namespace}`;
  const group = { apiVersion: "admissionregistration.k8s.io/v1", metadata: { name } };
  const volumes = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["persistentvolumes"] };
  const expression = `object.spec.?claimRef.?namespace.orValue("") != "${namespace}"`;
  const spec = { failurePolicy: "Fail", matchConstraints: { resourceRules: [volumes] }, validations: [{ expression }] };
  await cluster.apply(
    { ...group, kind: "ValidatingAdmissionPolicy", spec },
    { ...group, kind: "ValidatingAdmissionPolicyBinding", spec: { policyName: name, validationActions: ["Deny"] } },
  );
  const manifest = persistentVolumeManifest({ namespace, name }, "none", {});
  const attempt = { signal: AbortSignal.timeout(300_000), input: JSON.stringify(manifest) };
  const create = () => cluster.lab.tryKubectl(["create", "--dry-run=server", "-f", "-"], attempt);
  await expect.poll(async () => (await create()).code, patient).not.toBe(0);
  return {
    [Symbol.asyncDispose]: async () => {
      const both = ["validatingadmissionpolicybinding", "validatingadmissionpolicy"];
      for (const kind of both) await cluster.kubectl("delete", kind, name);
    },
  };
}

async function messagesAbout(name: string, namespace?: string): Promise<string> {
  return (await eventsAbout(cluster, name, namespace)).map(({ message }) => message).join("\n");
}

/** By its command line, among the processes of the controller's Pod. */
async function killContainer(command: string): Promise<void> {
  const [controller] = await cluster.list<Pod & { spec: { nodeName: string } }>(
    ...["pods", "-n", "kube-system", "-l", "app=s3-csi-controller"],
  );
  const script = [
    "for p in /proc/[0-9]*; do",
    '  grep -q "$1" $p/cgroup 2>/dev/null && grep -q "$2" $p/cmdline && kill -9 ${p#/proc/}',
    "done; true",
  ].join("\n");
  const { uid } = controller?.metadata ?? { uid: "none" };
  await onNode(cluster, controller?.spec.nodeName ?? "", "sh", "-c", script, "kill", uid, command);
}
