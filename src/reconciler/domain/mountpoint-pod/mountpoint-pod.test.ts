import { describe, expect, it } from "vitest";
import { plainStores } from "../../../../test/support/fake-credentials.ts";
import { type NodeName, type PodUid } from "../../../core/names.ts";
import { identityFor, s3VolumeFrom } from "../persistent-volume.ts";
import { installation } from "./installation.fixture.ts";
import { type MountpointPodConfig, mountpointPod, mountpointPodWarnings } from "./mountpoint-pod.ts";
import { settingsHash } from "./settings-hash.ts";

const uid = "a4509011-bd2a-4f37-b1b0-05d715087852" as PodUid;

interface Wanted {
  readonly name?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly mountOptions?: readonly string[];
  /** Of the PersistentVolume. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly generation?: number;
  readonly installation?: Partial<MountpointPodConfig>;
}

function purposeOf({
  name = "test-vol",
  attributes = {},
  mountOptions = [],
  annotations = {},
  generation = 0,
}: Wanted) {
  const volumeAttributes = { bucketName: "data", ...attributes };
  const csi = { driver: "s3.csi.scality.com", volumeHandle: "some/handle", volumeAttributes };
  const volume = s3VolumeFrom(plainStores, { metadata: { name, annotations }, spec: { csi, mountOptions } });
  if (volume === undefined) throw new Error("not a volume of this driver");
  return {
    volume,
    identity: identityFor(volume, { namespace: "shop", account: "default" }),
    workload: uid,
    node: "worker-1" as NodeName,
    generation,
  };
}

const made = (wanted: Wanted = {}) => mountpointPod({ ...installation, ...wanted.installation }, purposeOf(wanted));
const warnings = (wanted: Wanted) =>
  mountpointPodWarnings({ ...installation, ...wanted.installation }, purposeOf(wanted).volume);

describe("metadata", () => {
  it("has the name, labels and annotations of 2.x and those of this driver", () => {
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
        "s3.csi.scality.com/settings": settingsHash(installation),
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

  it("runs the mounter of the image of the driver, and its status gets the end of its stderr", () => {
    expect(made().spec.containers[0]).toMatchObject({
      name: "mountpoint",
      image: "driver:3.0.0",
      imagePullPolicy: "IfNotPresent",
      command: ["/bin/scality-s3-csi-mounter"],
      terminationMessagePolicy: "FallbackToLogsOnError",
      resources: { requests: { cpu: "10m", memory: "32Mi" }, limits: {} },
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

const limit = (memory: string) => ({ mountpointContainerResourcesLimitsMemory: memory });

describe("resources", () => {
  const memoryCache = { cache: "emptyDir", cacheEmptyDirMedium: "Memory", cacheEmptyDirSizeLimit: "1Gi" };
  const limited = { resources: { requests: {}, limits: { memory: "1Gi" } } };

  it("of the volume are merged with those of the installation", () => {
    const attributes = { mountpointContainerResourcesRequestsCpu: "1", ...limit("1Gi") };
    expect(made({ attributes }).spec.containers[0].resources).toEqual({
      requests: { cpu: "1", memory: "32Mi" },
      limits: { memory: "1Gi" },
    });
  });

  it.for([
    [{ attributes: {} }, undefined],
    [{ attributes: limit("1Gi") }, ["--memory-target=972"]],
    [{ attributes: limit("1Gi"), installation: { mountpointVersion: "1.23.0" } }, undefined],
    [{ attributes: limit("1Gi"), installation: { mountpointVersion: "v2.0.0" } }, ["--memory-target=972"]],
    [{ attributes: limit("1Gi"), installation: { mountpointVersion: "unknown" } }, undefined],
    [{ attributes: limit("256Mi") }, undefined],
    [{ attributes: { ...limit("2Gi"), ...memoryCache } }, ["--memory-target=972"]],
    [{ attributes: {}, installation: limited }, ["--memory-target=972"]],
  ] as const)("%j → arguments of the mounter %j", ([wanted, args]) => {
    expect(made(wanted).spec.containers[0].args).toEqual(args);
  });

  it.for([
    [{ attributes: {} }, 0],
    [{ attributes: limit("512Mi") }, 0],
    [{ attributes: limit("511Mi") }, 1],
    [{ attributes: { ...limit("1Gi"), ...memoryCache } }, 1],
    [{ attributes: { ...limit("1536Mi"), ...memoryCache } }, 0],
    [{ attributes: {}, installation: { resources: { requests: {}, limits: { memory: "128Mi" } } } }, 1],
  ] as const)("%j → warnings: %d", ([wanted, count]) => {
    expect(warnings(wanted)).toHaveLength(count);
  });

  it("that are too small are reported with the attribute and the amount", () => {
    const [warning] = warnings({ attributes: { ...limit("1Gi"), ...memoryCache } });
    expect(warning).toContain("leaves 0 MiB to mount-s3");
    expect(warning).toContain("mountpointContainerResourcesLimitsMemory to 1536Mi or more");
  });
});

describe("the cache", () => {
  it.for([
    [{ attributes: { cache: "emptyDir" } }, { emptyDir: {} }],
    [{ mountOptions: ["cache /anything"] }, { emptyDir: {} }],
    [{ attributes: { cache: "emptyDir", cacheEmptyDirSizeLimit: "1Gi" } }, { emptyDir: { sizeLimit: "1Gi" } }],
    [
      { attributes: { cache: "emptyDir", cacheEmptyDirMedium: "Memory", cacheEmptyDirSizeLimit: "1Gi" } },
      { emptyDir: { medium: "Memory", sizeLimit: "1Gi" } },
    ],
    [
      {
        attributes: {
          cache: "ephemeral",
          cacheEphemeralStorageClassName: "fast",
          cacheEphemeralStorageResourceRequest: "10Gi",
        },
      },
      {
        ephemeral: {
          volumeClaimTemplate: {
            spec: {
              accessModes: ["ReadWriteOnce"],
              storageClassName: "fast",
              resources: { requests: { storage: "10Gi" } },
            },
          },
        },
      },
    ],
  ] as const)("%j → %j", ([wanted, source]) => {
    const { spec } = made(wanted);
    expect(spec.volumes).toContainEqual({ name: "cache", ...source });
    expect(spec.containers[0].volumeMounts).toContainEqual({ name: "cache", mountPath: "/cache" });
  });
});

describe("an installation", () => {
  it("brings its pull secrets and tolerations", () => {
    const { spec } = made({ installation: { imagePullSecrets: ["one", "two"], tolerations: [{ key: "gpu" }] } });
    expect(spec).toMatchObject({ imagePullSecrets: [{ name: "one" }, { name: "two" }], tolerations: [{ key: "gpu" }] });
    expect(made().spec).not.toHaveProperty("imagePullSecrets");
  });

  it("adds its labels and annotations, but does not override those of the driver", () => {
    const extra = {
      labels: { team: "storage", "s3.csi.scality.com/pod-uid": "other" },
      annotations: {
        "example.com/scan": "no",
        "s3.csi.scality.com/volume-name": "other",
        "s3.csi.scality.com/settings": "other",
      },
    };
    const { metadata } = made({ installation: { extra } });
    expect(metadata.labels).toEqual({ ...made().metadata.labels, team: "storage" });
    expect(metadata.annotations).toEqual({
      ...made().metadata.annotations,
      "example.com/scan": "no",
      "s3.csi.scality.com/settings": settingsHash({ ...installation, extra }),
    });
  });

  it("on OpenShift leaves user and groups to the platform", () => {
    const { spec } = made({ installation: { userBy: "platform" } });
    expect(JSON.stringify(spec)).not.toMatch(/runAsUser|runAsGroup|fsGroup/);
    expect(spec.containers[0].securityContext).toMatchObject({ runAsNonRoot: true, readOnlyRootFilesystem: true });
  });

  it("with a CA joins it to the roots of the system before mount-s3 starts", () => {
    const resources = { requests: { cpu: "10m", memory: "16Mi" }, limits: { memory: "64Mi" } };
    const ca = { configMap: "our-ca", checksum: "", image: "alpine:3", imagePullPolicy: "Always", resources };
    const { spec } = made({ installation: { ca } });
    expect(spec.volumes).toContainEqual({ name: "custom-ca-cert", configMap: { name: "our-ca" } });
    expect(spec.volumes).toContainEqual({ name: "etc-ssl-certs", emptyDir: { sizeLimit: "2Mi" } });
    expect(spec.containers[0].volumeMounts).toContainEqual({
      name: "etc-ssl-certs",
      mountPath: "/etc/ssl/certs",
      readOnly: true,
    });
    expect(spec.initContainers).toEqual([
      expect.objectContaining({ name: "install-ca-cert", image: "alpine:3", imagePullPolicy: "Always", resources }),
    ]);
    expect(spec.initContainers?.[0]?.securityContext).toEqual(spec.containers[0].securityContext);
    expect(made().spec).not.toHaveProperty("initContainers");
  });
});

describe("live options", () => {
  const live = "live.s3.csi.scality.com";

  it("LC-21 resources, cache and memory target are those of the annotations, and the Pod names all of them", () => {
    const annotations = {
      [`${live}/mountpointContainerResourcesLimitsMemory`]: "2Gi",
      [`${live}/cache`]: "emptyDir",
      [`${live}/cacheEmptyDirSizeLimit`]: "1Gi",
      [`${live}/mountOptions`]: "metadata-ttl 60",
      [`${live}/mountpointEnv.HTTPS_PROXY`]: "http://proxy",
    };
    const attributes = {
      mountpointContainerResourcesLimitsMemory: "1Gi",
      mountpointContainerResourcesRequestsCpu: "2",
      "mountpointEnv.HTTPS_PROXY": "http://former",
    };
    const pod = made({ annotations, attributes });
    expect(pod.metadata.annotations).toMatchObject({
      ...annotations,
      [`${live}/mountOptions`]: "--cache=/cache,--max-cache-size=972,--metadata-ttl=60",
    });
    const [container] = pod.spec.containers;
    expect(container.resources).toMatchObject({ limits: { memory: "2Gi" }, requests: { cpu: "2" } });
    expect(container.args).toEqual(["--memory-target=1945"]);
    expect(pod.spec.volumes).toContainEqual({ name: "cache", emptyDir: { sizeLimit: "1Gi" } });
  });

  it("LC-24 one that is refused changes nothing", () => {
    const annotations = { [`${live}/mountOptions`]: "prefix other/", [`${live}/cache`]: "ssd" };
    expect(made({ annotations })).toEqual(made());
  });

  it("are those of the volume only: the chart has none for all volumes", () => {
    const extra = { labels: {}, annotations: { [`${live}/mountOptions`]: "debug", own: "kept" } };
    const { annotations } = made({ installation: { extra } }).metadata;
    expect(annotations).toMatchObject({ own: "kept" });
    expect(annotations).not.toHaveProperty([`${live}/mountOptions`]);
  });

  it("the warning about a limit that is too low names the annotation that sets it", () => {
    const name = "mountpointContainerResourcesLimitsMemory";
    expect(warnings({ annotations: { [`${live}/${name}`]: "100Mi" } })[0]).toContain(`annotation ${live}/${name} to`);
    expect(warnings({ attributes: { [name]: "100Mi" } })[0]).toContain(`volumeAttributes.${name} to`);
  });
});
