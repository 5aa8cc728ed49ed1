/** The custom resource as a real API server takes it: what the driver writes, what 2.x wrote, and what users type. */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { checkout } from "../../lab/images.ts";
import {
  type AttachmentSpec,
  assignWorkload,
  dropMountpointPod,
  newAttachment,
  releaseWorkload,
  specPatch,
} from "../../src/core/attachment.ts";
import type { NodeName, PodName, PodUid, PvName, VolumeId } from "../../src/core/names.ts";
import { ApiError } from "../../src/kube/client/api-error.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { kubeconfigCredentials } from "../../src/kube/client/credentials.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { silentLogger } from "../../src/runtime/log.ts";
import { openCluster } from "../support/cluster.ts";
import { installAttachmentKind } from "../support/stage.ts";

const cluster = openCluster();
const call = { signal: new AbortController().signal, log: silentLogger };
const client = new KubeClient(kubeconfigCredentials(cluster.lab.layout.kubeconfig), { userAgent: "test" });
const crd = "mountpoints3podattachments.s3.csi.scality.com";

beforeAll(() => installAttachmentKind(cluster));
afterAll(() => client[Symbol.dispose]());

it("kubectl apply -k on the repository installs the kind, over that of 2.x and with its objects, and again at no cost", async () => {
  await cluster.kubectl("delete", "crd", crd, "--ignore-not-found", "--wait=true");
  await cluster.apply(definitionOf2x());
  await cluster.kubectl("wait", "--for=condition=Established", `crd/${crd}`);
  // The condition may be known a moment before the kind is served.
  await using old = await vi.waitFor(() => stored(objectOf2x()), { timeout: 60_000 });

  const first = await cluster.kubectl("apply", "-k", checkout);
  const second = await cluster.kubectl("apply", "-k", checkout);

  expect([first, second].map((text) => text.trim().split(" ").at(-1))).toEqual(["configured", "unchanged"]);
  const fieldAdded = { spec: { authenticationSource: "driver" } };
  await expect
    .poll(async () => (await client.patch(call, kinds.attachments, old, fieldAdded)).spec, { timeout: 60_000 })
    .toEqual({ ...objectOf2x(old.name).spec, ...fieldAdded.spec });
});

it("the driver's own objects are stored as they were made, and changed by its patches", async () => {
  const [first, second] = ["mp-first", "mp-second"] as [PodName, PodName];
  const made = newAttachment(
    {
      node: "n" as NodeName,
      persistentVolume: "p" as PvName,
      volumeId: `v-${random()}` as VolumeId,
      mountOptions: "",
      fsGroup: "",
    },
    { driverVersion: "3.0.0", authenticationSource: "secret" },
    assignment(first, "a"),
  );
  await using object = await stored(made);
  const read = async () => (await client.get(call, kinds.attachments, object))?.spec as AttachmentSpec;
  expect(await read()).toEqual(made.spec);

  const shared = assignWorkload(assignWorkload(made.spec, assignment(first, "b")), assignment(second, "c"));
  await client.patch(call, kinds.attachments, object, { spec: specPatch(made.spec, shared) });
  expect(await read()).toEqual(shared);
  // A merge patch merges maps: the dropped one must really be gone.
  const released = dropMountpointPod(releaseWorkload(shared, "c" as PodUid), second);
  await client.patch(call, kinds.attachments, object, { spec: specPatch(shared, released) });
  expect(Object.keys((await read()).mountpointS3PodAttachments)).toEqual([first]);
});

it("objects of 2.x, without the optional fields, are stored; so is an update by 2.x that drops them", async () => {
  await using object = await stored(objectOf2x());
  expect((await client.get(call, kinds.attachments, object))?.spec).toEqual(objectOf2x(object.name).spec);
  await client.patch(call, kinds.attachments, object, { spec: { authenticationSource: "driver" } });
  const { resourceVersion } = (await client.get(call, kinds.attachments, object))?.metadata ?? {};
  const update = { ...objectOf2x(object.name), metadata: { name: object.name, resourceVersion } };
  const file = JSON.stringify(update);
  await cluster.lab.kubectl(["replace", "-f", "-"], { signal: AbortSignal.timeout(60_000), input: file });
  expect((await client.get(call, kinds.attachments, object))?.spec).toEqual(update.spec);
});

it.for([
  ...[
    "nodeName",
    "persistentVolumeName",
    "volumeID",
    "mountOptions",
    "workloadFSGroup",
    "mountpointS3PodAttachments",
  ].map((field) => ({ what: `without ${field}`, field, change: { [field]: undefined } })),
  { what: "with a number as fsGroup", field: "workloadFSGroup", change: { workloadFSGroup: 1000 } },
  { what: "with a list of no workload's UID", field: "workloadPodUID", change: listed({ attachmentTime: aTime() }) },
  { what: "with a list of no time", field: "attachmentTime", change: listed({ workloadPodUID: "a" }) },
  {
    what: "with a time that is none",
    field: "attachmentTime",
    change: listed({ workloadPodUID: "a", attachmentTime: "yesterday" }),
  },
])("an object $what is refused, and the field is named", async ({ field, change }) => {
  const object = objectOf2x();
  const refusal = client.create(call, kinds.attachments, { ...object, spec: { ...object.spec, ...change } } as never);
  await expect(refusal).rejects.toSatisfy((error) => error instanceof ApiError && error.code === 422);
  await expect(refusal).rejects.toThrow(field);
});

it.for([
  "nodeName",
  "persistentVolumeName",
  "volumeID",
  "mountOptions",
  "workloadFSGroup",
  "authenticationSource",
  "workloadNamespace",
  "workloadServiceAccountName",
])("kubectl get s3pa --field-selector spec.%s finds exactly the objects with the value", async (field) => {
  const value = `only-${random()}`;
  await using found = await stored(withSpec({ [field]: value }));
  await using _other = await stored(withSpec({ [field]: `not-${value}` }));
  const text = await cluster.kubectl("get", "s3pa", "--field-selector", `spec.${field}=${value}`, "-o", "name");
  expect(text.trim()).toBe(`mountpoints3podattachment.s3.csi.scality.com/${found.name}`);
});

it("two selectors are joined, and a field that cannot be selected is refused", async () => {
  const pv = `pv-${random()}`;
  await using a = await stored(withSpec({ persistentVolumeName: pv, workloadFSGroup: "1000" }));
  await using _b = await stored(withSpec({ persistentVolumeName: pv, workloadFSGroup: "2000" }));
  const selector = `spec.persistentVolumeName=${pv},spec.workloadFSGroup=1000`;
  expect(await cluster.kubectl("get", "s3pa", "--field-selector", selector, "-o", "name")).toMatch(
    new RegExp(`^\\S+/${a.name}\\s$`),
  );
  const unknown = cluster.kubectl("get", "s3pa", "--field-selector", "spec.unknown=x");
  await expect(unknown).rejects.toThrow("field label not supported");
});

const columnsOf2x = ["NAME", "NODE", "PV NAME", "MOUNT OPTIONS", "AGE"];

it.for([
  { command: "get s3pa", columns: columnsOf2x },
  { command: "get mountpoints3podattachments -A", columns: columnsOf2x },
  { command: "get s3pa -o wide", columns: [...columnsOf2x, "ASSIGNED", "SCHEDULED", "MOUNTED", "HEALTHY"] },
])(
  "kubectl $command shows the columns of 2.x, and in the wide view the conditions after them",
  async ({ command, columns }) => {
    await using object = await stored(withSpec({ nodeName: "worker-1", mountOptions: "allow-delete,prefix=a/" }));
    const [header = "", ...rows] = (await cluster.kubectl(...command.split(" "))).trim().split("\n");
    expect(header.trim().split(/ {2,}/)).toEqual(columns);
    const row = rows.find((line) => line.startsWith(object.name));
    expect(row?.split(/ {2,}/).slice(0, 4)).toEqual([object.name, "worker-1", "pv", "allow-delete,prefix=a/"]);
  },
);

it.for(["describe s3pa", "describe mountpoints3podattachment", "get -o yaml s3pa"])(
  "kubectl %s shows who is attached to what",
  async (command) => {
    await using object = await stored(objectOf2x());
    const text = await cluster.kubectl(...command.split(" "), object.name);
    for (const part of [object.name, "worker-1", "mp-1", "a4509011"]) expect(text).toContain(part);
  },
);

it("status is a subresource: written apart from the rest, and by nobody else", async () => {
  await using object = await stored(objectOf2x());
  const status = { mountpointPods: { "mp-1": { phase: "Running", restarts: 1 } } };
  const both = JSON.stringify({ status, spec: { nodeName: "changed" } });
  const patch = ["patch", "s3pa", object.name, "--type=merge", "-p", both];
  const read = async () => await cluster.get<{ spec: AttachmentSpec; status?: object }>("s3pa", object.name);

  await cluster.kubectl(...patch, "--subresource=status");
  expect(await read()).toMatchObject({ spec: { nodeName: "worker-1" }, status });
  await cluster.kubectl(...patch.slice(0, -1), JSON.stringify({ status: null, spec: { nodeName: "changed" } }));
  expect(await read()).toMatchObject({ spec: { nodeName: "changed" }, status });
});

/** An object that goes with the test. */
async function stored(object: { readonly metadata: { readonly name: string } }) {
  const { metadata } = await client.create(call, kinds.attachments, object);
  const { name, uid } = metadata;
  return { name, [Symbol.asyncDispose]: () => client.delete(call, kinds.attachments, { name }, { uid }) };
}

function objectOf2x(name = `s3pa-${random()}`) {
  return {
    apiVersion: "s3.csi.scality.com/v2",
    kind: "MountpointS3PodAttachment",
    metadata: { name, labels: { "s3.csi.scality.com/mounted-by-csi-driver-version": "2.1.1" } },
    spec: {
      nodeName: "worker-1",
      persistentVolumeName: "pv",
      volumeID: "handle",
      mountOptions: "",
      workloadFSGroup: "",
      mountpointS3PodAttachments: {
        "mp-1": [{ workloadPodUID: "a4509011-bd2a-4f37-b1b0-05d715087852", attachmentTime: aTime() }],
      },
    },
  };
}

function withSpec(fields: Readonly<Record<string, string>>) {
  const object = objectOf2x();
  return { ...object, spec: { ...object.spec, ...fields } };
}

function listed(entry: object) {
  return { mountpointS3PodAttachments: { "mp-1": [entry] } };
}

function assignment(mountpointPod: PodName, workload: string) {
  return { mountpointPod, workload: workload as PodUid, at: new Date(aTime()) };
}

function aTime(): string {
  return "2026-01-15T10:30:00Z";
}

function random(): string {
  return randomBytes(4).toString("hex");
}

/** Ours without what it added: the optional fields, their selectors, and what a status holds. */
function definitionOf2x(): object {
  const path = join(checkout, `charts/scality-mountpoint-s3-csi-driver/crds/mountpoints3podattachments.yaml`);
  const definition = parse(readFileSync(path, "utf8"));
  const [version] = definition.spec.versions;
  const { properties } = version.schema.openAPIV3Schema;
  const added = ["authenticationSource", "workloadNamespace", "workloadServiceAccountName"];
  for (const field of added) delete properties.spec.properties[field];
  properties.status = { type: "object" };
  version.selectableFields = version.selectableFields.slice(0, -added.length);
  return definition;
}
