import { describe, expect, it } from "vitest";
import { type MountpointPodConfig, mountpointPod } from "./mountpoint-pod.ts";
import { mounterCommand, type NodeName, type PodUid } from "./names.ts";
import { s3VolumeFrom } from "./persistent-volume.ts";

const config: MountpointPodConfig = {
  namespace: "mount-s3",
  image: "driver:3.0.0",
  imagePullPolicy: "IfNotPresent",
  command: mounterCommand,
  priorityClassName: "mount-s3-critical",
  driverVersion: "3.0.0",
  mountpointVersion: "1.24.0",
};
const uid = "a4509011-bd2a-4f37-b1b0-05d715087852" as PodUid;

interface Wanted {
  readonly name?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly generation?: number;
}

function made({ name = "test-vol", attributes = {}, generation = 0 }: Wanted = {}) {
  const volumeAttributes = { bucketName: "data", ...attributes };
  const csi = { driver: "s3.csi.scality.com", volumeHandle: "some/handle", volumeAttributes };
  const volume = s3VolumeFrom({ metadata: { name }, spec: { csi } });
  if (volume === undefined) throw new Error("not a volume of ours");
  return mountpointPod(config, { volume, workload: uid, node: "worker-1" as NodeName, generation });
}

describe("metadata", () => {
  it("has the name, labels and annotations of 2.x and of ours", () => {
    expect(made().metadata).toEqual({
      name: "mp-55f7d2331f3149f00d62d7af839d4cee895e1c68a2f0d96ffd359f79",
      namespace: "mount-s3",
      labels: {
        "s3.csi.scality.com/mountpoint-version": "1.24.0",
        "s3.csi.scality.com/mounted-by-csi-driver-version": "3.0.0",
        "s3.csi.scality.com/pod-uid": uid,
        "s3.csi.scality.com/volume-name": "test-vol",
      },
      annotations: {
        "s3.csi.scality.com/volume-name": "test-vol",
        "s3.csi.scality.com/volume-id": "some/handle",
        "s3.csi.scality.com/authentication-source": "driver",
        "cluster-autoscaler.kubernetes.io/daemonset-pod": "true",
      },
    });
  });

  it("gives a successor another name", () => {
    expect(made({ generation: 1 }).metadata.name).not.toBe(made().metadata.name);
  });

  it.for([
    ["x".repeat(63), true],
    ["x".repeat(64), false],
    ["x".repeat(253), false],
    ["a", true],
    ["a.b-c_d", true],
    ["ends-badly-", false],
  ] as const)("volume %s → in a label: %s, in an annotation always", ([name, inLabel]) => {
    const { labels, annotations } = made({ name }).metadata;
    expect(labels["s3.csi.scality.com/volume-name"]).toBe(inLabel ? name : undefined);
    expect(annotations["s3.csi.scality.com/volume-name"]).toBe(name);
  });
});

describe("spec", () => {
  it("goes through the scheduler to this node and no other, past every taint", () => {
    const { spec } = made();
    expect(spec).not.toHaveProperty("nodeName");
    expect(spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms).toEqual([
      { matchFields: [{ key: "metadata.name", operator: "In", values: ["worker-1"] }] },
    ]);
    expect(spec.nodeSelector).toEqual({ "kubernetes.io/os": "linux" });
    expect(spec.tolerations).toEqual([{ operator: "Exists" }]);
    expect(spec.priorityClassName).toBe("mount-s3-critical");
  });

  it("outlives the workloads on a drain, and starts again only after a failure", () => {
    expect(made().spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(600);
    expect(made().spec.restartPolicy).toBe("OnFailure");
  });

  it("can do nothing but mount: the restricted profile, no token, nothing to write but its two volumes", () => {
    const { spec } = made();
    expect(spec.automountServiceAccountToken).toBe(false);
    expect(spec.containers).toHaveLength(1);
    expect(spec.containers[0].securityContext).toEqual({
      runAsUser: 1000,
      runAsGroup: 0,
      runAsNonRoot: true,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(spec.volumes).toEqual([
      { name: "comm", emptyDir: { medium: "Memory", sizeLimit: "10Mi" } },
      { name: "scratch", emptyDir: {} },
    ]);
    expect(spec.containers[0].volumeMounts).toEqual([
      { name: "comm", mountPath: "/comm" },
      { name: "scratch", mountPath: "/tmp" },
    ]);
    expect(spec.securityContext.fsGroup).toBe(1000);
  });

  it("runs the mounter of the driver's own image and leaves its last words in the status", () => {
    expect(made().spec.containers[0]).toMatchObject({
      name: "mountpoint",
      image: "driver:3.0.0",
      imagePullPolicy: "IfNotPresent",
      command: ["/bin/scality-s3-csi-mounter"],
      terminationMessagePolicy: "FallbackToLogsOnError",
      resources: { requests: { cpu: "10m", memory: "32Mi" } },
    });
  });

  it("has no probe that could kill a file system in use", () => {
    const [container] = made().spec.containers;
    for (const probe of ["livenessProbe", "readinessProbe", "startupProbe"])
      expect(container).not.toHaveProperty(probe);
  });

  it("takes a service account only from the volume", () => {
    expect(made().spec).not.toHaveProperty("serviceAccountName");
    const attributes = { mountpointPodServiceAccountName: "mounter" };
    expect(made({ attributes }).spec).toMatchObject({ serviceAccountName: "mounter" });
  });
});
