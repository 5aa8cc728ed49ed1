/**
 * The same volumes on three stores at the same time, in one installation of the driver: the lab's own is the default store, the others are
 * named. What is seen becomes the table of docs/compatibility.md.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { driverNamespace } from "../../../lab/install-driver.ts";
import { network } from "../../../lab/layout.ts";
import { s3Region } from "../../../lab/s3.ts";
import { openCluster } from "../../support/cluster.ts";
import { Garage } from "../../support/garage.ts";
import { installedWith } from "../../support/installed-with.ts";
import { type LabStore, minioStore, namedIn, versitygwStore } from "../../support/lab-store.ts";
import { MinioInLab } from "../../support/minio-in-lab.ts";
import { secretManifest } from "../../support/s3-accounts.ts";
import { S3Recorder } from "../../support/s3-recorder.ts";
import { storeFeatures, type TriedStore } from "../../support/store-features.ts";

const cluster = openCluster();
const node = "worker-1";
const undo = new AsyncDisposableStack();
const tried = new Map<string, TriedStore>();

beforeAll(async () => {
  const minio = minioStore(undo.use(await MinioInLab.start(cluster)));
  const garage = undo.use(await Garage.start());
  for (const store of [minio, garage]) {
    const secret = secretOf(store);
    undo.defer(async () => void (await cluster.kubectl("delete", "secret", secret.name, "-n", secret.namespace)));
    await cluster.apply(secretManifest(secret, store.account));
  }
  undo.use(await installedWith(cluster, [minio, garage].flatMap(valuesFor)));
  tried.set("versitygw", await started(versitygwStore(cluster)));
  tried.set("minio", await started(minio));
  tried.set("garage", await started(garage));
});

afterAll(async () => {
  await undo.disposeAsync();
});

describe.each(["versitygw", "minio", "garage"])("%s", (name) => {
  for (const { title, works, elsewhere } of storeFeatures) {
    const { seen, trial } = elsewhere?.[name] ?? { seen: "works", trial: works };
    it(`ID-6 ${title}: ${seen}`, async () => {
      const store = tried.get(name);
      if (store === undefined) throw new Error(`${name} was not started`);
      await expect(trial(store)).resolves.toBeUndefined();
    });
  }
});

async function started(store: LabStore): Promise<TriedStore> {
  const sandbox = undo.use(await cluster.sandbox());
  const { bucket } = sandbox;
  if (store.s3 !== cluster.s3) await cluster.makeBucket(bucket, {}, store.s3);
  const mountOptions = ["allow-overwrite", "allow-delete"];
  const claim = await sandbox.volume({ mountOptions, attributes: namedIn(store) });
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  const recorder = undo.use(await S3Recorder.open(cluster, store.port));
  return { cluster, sandbox, store, bucket, claim, node, pod, secret: secretOf(store), recorder };
}

function secretOf({ name }: LabStore) {
  return { namespace: driverNamespace, name: name === undefined ? "s3-secret" : `keys-of-${name}` };
}

function valuesFor(store: LabStore): readonly string[] {
  const value = `s3.stores.${store.name}`;
  return [
    `${value}.endpointUrl=http://${network.hub}:${store.port}`,
    `${value}.region=${s3Region}`,
    `${value}.credentialSecret.name=${secretOf(store).name}`,
  ];
}
