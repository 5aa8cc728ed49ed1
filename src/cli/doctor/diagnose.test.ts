/** Faults that test/node/doctor.test.ts cannot make on a lab that others use, or that the chart's policies refuse. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { driverName } from "../../core/names.ts";
import { metadata, volume, waitingPod } from "../../topology/cluster.fixture.ts";
import type { Pod } from "../../topology/objects.ts";
import { diagnose } from "./diagnose.ts";
import { definition, installation, now } from "./installation.fixture.ts";
import type { Installation } from "./installation.ts";

const ids = (but: Partial<Installation>) => diagnose(installation(but)).map(({ id }) => id);

it("finds nothing in a healthy installation", () => {
  expect(diagnose(installation())).toEqual([]);
});

it.each<readonly [string, Partial<Installation>]>([
  ["definition-missing", { definition: "missing" }],
  ["definition-version", { definition: definition([], "v1") }],
  ["definition-outdated", { definition: definition([]) }],
  ["mountpoint-namespace-missing", { mountpointNamespace: "missing" }],
  [
    "mountpoint-namespace-terminating",
    { mountpointNamespace: { metadata: { ...metadata("mount-s3"), deletionTimestamp: "2026-01-15T10:09:00Z" } } },
  ],
  ["controller-missing", { deployment: "missing" }],
  ["node-plugin-missing", { daemonSet: "missing", driverPods: [] }],
  ["kubernetes-too-old", { serverVersion: "v1.29.1" }],
  [
    "lease-foreign",
    { lease: { metadata: metadata("lease"), spec: { holderIdentity: "x", renewTime: "2026-01-15T10:09:59Z" } } },
  ],
  ["ca-missing", { caBundle: { configMap: "kube-system/ca", pem: "missing" } }],
  ["ca-invalid", { caBundle: { configMap: "kube-system/ca", pem: { text: "nothing" } } }],
])("finds %s", (id, but) => {
  expect(ids(but)).toContain(id);
});

const findingsOn = (pod: Pod) => diagnose(installation({}, { mountpointPods: [pod], volumes: [], attachments: [] }));

it("WM-1 finds a Mountpoint Pod that waits for a volume and does not run, and nothing in one that does", () => {
  const status = { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message: "no room" }] };
  expect(findingsOn(waitingPod({ status }))).toMatchObject([
    { id: "mountpoint-pod-unschedulable", severity: "warning" },
  ]);
  expect(findingsOn(waitingPod())).toEqual([]);
});

describe("what the chart's policies refuse, and earlier versions may have left", () => {
  it("a volume that the driver cannot mount", () => {
    const csi = { driver: driverName, volumeHandle: "handle", volumeAttributes: {} };
    expect(diagnose(installation({}, { volumes: [volume({ csi })] })).map(({ id }) => id)).toContain("volume-refused");
  });

  it("classes with half a Secret or an unknown policy", () => {
    const parameters = { "csi.storage.k8s.io/provisioner-secret-name": "keys", deletePolicy: "burn" };
    const classes = [{ metadata: metadata("class"), provisioner: driverName, parameters }];
    expect(ids({ classes })).toEqual(["class-secret-incomplete", "class-parameter"]);
  });

  it("a released volume whose bucket could not be deleted", () => {
    const volumeAttributes = { bucketName: "bucket", dynamicProvisioning: "true" };
    const csi = { driver: driverName, volumeHandle: "handle", volumeAttributes };
    const released = { ...volume({ csi, persistentVolumeReclaimPolicy: "Delete" }), status: { phase: "Released" } };
    const event = {
      metadata: metadata("event"),
      involvedObject: { kind: "PersistentVolume", name: "data" },
      message: "the store refuses",
    };
    const [found] = diagnose(installation({ events: [event] }, { volumes: [released] }));
    expect(found).toMatchObject({ id: "volume-not-deleted", evidence: "the store refuses" });
  });
});

it.each([
  ["ca-expired", 86_400_000 * 40],
  ["ca-ends-soon", 86_400_000 * 10],
] as const)("finds %s by the certificate's own date", (id, laterMs) => {
  const directory = mkdtempSync(join(tmpdir(), "ca-"));
  try {
    const file = join(directory, "ca.pem");
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "/dev/null"];
    execFileSync("openssl", ["req", "-x509", ...key, "-subj", "/CN=ca", "-days", "30", "-out", file], {
      stdio: "ignore",
    });
    const caBundle = { configMap: "kube-system/ca", pem: { text: readFileSync(file, "utf8") } };
    expect(ids({ caBundle, now: new Date(Date.now() + laterMs) })).toContain(id);
    expect(ids({ caBundle: { ...caBundle, pem: "unreadable" }, now })).toEqual([]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

it("says nothing about what the user may not read", () => {
  const unreadable = {
    definition: "unreadable",
    csiDriver: "unreadable",
    daemonSet: "unreadable",
    deployment: "unreadable",
    lease: "unreadable",
    mountpointNamespace: "unreadable",
  } as const;
  expect(diagnose(installation({ ...unreadable, csiNodes: [], unreadable: ["CSINodes: forbidden"] }))).toEqual([]);
});
