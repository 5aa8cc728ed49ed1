/** To put a finalizer on a Secret takes the right to patch it; the chart's policy leaves the controller nothing else. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { rootAccount } from "../../lab/s3.ts";
import { secretFinalizer } from "../../src/core/names.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { kubeconfigCredentials } from "../../src/kube/client/credentials.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { ChartAccess } from "../support/chart-access.ts";
import { openCluster } from "../support/cluster.ts";
import { secretManifest } from "../support/s3-accounts.ts";
import { installAttachmentKind, long, Stage } from "../support/stage.ts";

const cluster = openCluster();
const others = "example.com/stay";

let stage: Stage;
let access: ChartAccess;
let controller: KubeClient;

beforeAll(async () => {
  await installAttachmentKind(cluster);
  stage = await Stage.open(cluster);
  access = await ChartAccess.apply(stage);
  controller = new KubeClient(kubeconfigCredentials(await access.kubeconfigOf("controller")), { userAgent: "test" });
  // The API server learns of rights and policies in its own time: until both hold.
  const probe = await newSecret();
  let attempt = 0;
  await vi.waitFor(async () => {
    // Another one each time: what got through before is no change any more.
    attempt += 1;
    const answer = await refusalOf(probe, { metadata: { labels: { a: String(attempt) } } });
    if (!answer.includes("s3-csi-secret-finalizer")) throw new Error(`not in force yet: ${answer}`);
  }, long);
});

afterAll(async () => {
  controller[Symbol.dispose]();
  await access[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

it.for<{ change: string; patch: object }>([
  { change: "the credentials", patch: { stringData: { access_key_id: "other" } } },
  { change: "a label", patch: { metadata: { labels: { app: "x" } } } },
  { change: "an annotation", patch: { metadata: { annotations: { a: "b" } } } },
  { change: "an owner", patch: { metadata: { ownerReferences: [owner()] } } },
  { change: "a finalizer of others", patch: { metadata: { finalizers: [others] } } },
  { change: "that it can be changed", patch: { immutable: true } },
])("SE-2 the controller may not change $change of a Secret", async ({ patch }) => {
  expect(await refusalOf(await newSecret(), patch)).toContain("s3-csi-secret-finalizer");
});

it("SE-2 of the finalizers of a Secret the controller may change its own, beside those of others", async () => {
  const name = await newSecret({ finalizers: [others] });
  expect(await refusalOf(name, { metadata: { finalizers: [others, secretFinalizer] } })).toBe("");
  expect(await refusalOf(name, { metadata: { finalizers: [secretFinalizer] } })).toContain("s3-csi-secret-finalizer");
  expect(await refusalOf(name, { metadata: { finalizers: [others] } })).toBe("");
  await stage.client.patch(
    stage.call,
    kinds.secrets,
    { namespace: stage.name, name },
    { metadata: { finalizers: null } },
  );
});

/** In the namespace of the stage, and gone with it. */
async function newSecret({ finalizers }: { readonly finalizers?: readonly string[] } = {}): Promise<string> {
  const name = `s-${randomBytes(4).toString("hex")}`;
  const manifest = secretManifest({ namespace: stage.name, name }, rootAccount);
  await cluster.apply({ ...manifest, metadata: { ...manifest.metadata, finalizers } });
  return name;
}

/** What the API server says to the controller; empty when it does as told. */
async function refusalOf(name: string, patch: object): Promise<string> {
  try {
    await controller.patch(stage.call, kinds.secrets, { namespace: stage.name, name }, patch);
    return "";
  } catch (error) {
    return String(error);
  }
}

function owner(): object {
  return { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "a4509011-bd2a-4f37-b1b0-05d715087852" };
}
