import { describe, expect, it } from "vitest";
import { storesFrom } from "../core/stores/store-list.ts";
import { reconcilerConfigFrom } from "./config.ts";
import { manualRollout } from "./rollout/rollout.fixture.ts";

const inCluster = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" };
const env = { ...inCluster, MOUNTPOINT_IMAGE: "driver:3", MOUNTPOINT_VERSION: "1.23.0" };

it("has the defaults of 2.x", () => {
  expect(reconcilerConfigFrom([], env, "3.0.0")).toEqual({
    mountpointPods: {
      namespace: "mount-s3",
      image: "driver:3",
      imagePullPolicy: "IfNotPresent",
      command: "/bin/scality-s3-csi-mounter",
      priorityClassName: "",
      preemptingPriorityClassName: "",
      driverVersion: "3.0.0",
      mountpointVersion: "1.23.0",
      resources: { requests: { cpu: "10m", memory: "32Mi" }, limits: {} },
      tolerations: [{ operator: "Exists" }],
      imagePullSecrets: [],
      extra: { labels: {}, annotations: {} },
      ca: undefined,
      userBy: "driver",
    },
    installation: { stores: storesFrom({ endpointUrl: "", region: "us-east-1" }, {}), podIdentity: false },
    warm: { perNode: 0, owner: "", releaseNamespace: "" },
    headroom: {
      enabled: false,
      image: "driver:3",
      imagePullPolicy: "IfNotPresent",
      command: ["sleep", "infinity"],
      priorityClassName: "",
    },
    rollout: manualRollout,
    pod: undefined,
    api: { host: "10.96.0.1", port: "443" },
    healthPort: undefined,
    metrics: false,
    metricsAuthorization: false,
    candidate: undefined,
    cleanupIntervalMs: 120_000,
    staleAfterMs: 120_000,
    stallLimitMs: 600_000,
    verbosity: 2,
  });
});

describe("a flag beats its variable", () => {
  it.for([
    { flag: "mountpoint-namespace", variable: "MOUNTPOINT_NAMESPACE", field: "namespace" },
    { flag: "mountpoint-version", variable: "MOUNTPOINT_VERSION", field: "mountpointVersion" },
    { flag: "mountpoint-image", variable: "MOUNTPOINT_IMAGE", field: "image" },
    { flag: "mountpoint-priority-class-name", variable: "MOUNTPOINT_PRIORITY_CLASS_NAME", field: "priorityClassName" },
  ] as const)("--$flag and $variable", ({ flag, variable, field }) => {
    const both = { ...env, [variable]: "of-variable" };
    expect(reconcilerConfigFrom([], both, "3").mountpointPods[field]).toBe("of-variable");
    expect(reconcilerConfigFrom([`--${flag}=of-flag`], both, "3").mountpointPods[field]).toBe("of-flag");
  });
});

it("takes the pull policy, the command, the health port, the times and the verbosity", () => {
  const flags = {
    "mountpoint-image-pull-policy": "Never",
    "mountpoint-container-command": "/bin/other",
    "health-port": "9809",
    "cleanup-interval-seconds": "1",
    "stale-threshold-seconds": "0",
    v: "4",
    kubeconfig: "kubeconfig.json",
  };
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const config = reconcilerConfigFrom(args, { MOUNTPOINT_IMAGE: "i", MOUNTPOINT_VERSION: "1" }, "3");
  expect(config.mountpointPods).toMatchObject({ imagePullPolicy: "Never", command: "/bin/other" });
  expect(config).toMatchObject({
    api: { kubeconfig: "kubeconfig.json" },
    healthPort: 9809,
    cleanupIntervalMs: 1000,
    staleAfterMs: 0,
    verbosity: 4,
  });
});

it("is a candidate by the name of its Pod, in the namespace of its Pod", () => {
  expect(
    reconcilerConfigFrom([], { ...env, POD_NAMESPACE: "driver", POD_NAME: "controller-1" }, "3").candidate,
  ).toEqual({
    lease: { namespace: "driver", name: "s3-pod-reconciler" },
    identity: "controller-1",
    required: false,
  });
});

it("SC-7 requires the lease if the flag is set, which needs the name of the Pod", () => {
  const pod = { POD_NAMESPACE: "driver", POD_NAME: "controller-1" };
  expect(reconcilerConfigFrom(["--require-lease"], { ...env, ...pod }, "3").candidate?.required).toBe(true);
  for (const some of [{}, { POD_NAMESPACE: "driver" }]) {
    expect(() => reconcilerConfigFrom(["--require-lease"], { ...env, ...some }, "3")).toThrow(
      "--require-lease needs --pod-namespace (or POD_NAMESPACE) and --pod-name (or POD_NAME)",
    );
  }
});

it.for(["POD_NAMESPACE", "POD_NAME"])("refuses %s alone", (variable) => {
  expect(() => reconcilerConfigFrom([], { ...env, [variable]: "x" }, "3")).toThrow(
    "--pod-namespace (or POD_NAMESPACE) and --pod-name (or POD_NAME) are of use only together: set both",
  );
});

it("accepts every flag of 2.x", () => {
  const flags = {
    "mountpoint-preempting-priority-class-name": "x",
    "mountpoint-headroom-priority-class-name": "x",
    "headroom-image": "x",
    "tls-ca-cert-configmap": "our-ca",
    "tls-init-image": "alpine:3",
    "tls-init-image-pull-policy": "Always",
    "tls-init-resources-req-cpu": "1m",
    "tls-init-resources-req-memory": "2Mi",
    "tls-init-resources-lim-memory": "3Mi",
  };
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  expect(reconcilerConfigFrom(args, env, "3").mountpointPods.ca).toEqual({
    configMap: "our-ca",
    checksum: "",
    image: "alpine:3",
    imagePullPolicy: "Always",
    resources: { requests: { cpu: "1m", memory: "2Mi" }, limits: { memory: "3Mi" } },
  });
});

const headroomOn = {
  ...env,
  MOUNTPOINT_HEADROOM_ENABLED: "true",
  MOUNTPOINT_HEADROOM_PRIORITY_CLASS_NAME: "headroom",
  MOUNTPOINT_PRIORITY_CLASS_NAME: "usual",
  MOUNTPOINT_PREEMPTING_PRIORITY_CLASS_NAME: "preempting",
};

const warmConfig = (...flags: string[]) =>
  reconcilerConfigFrom([...flags, "--pod-namespace=kube-system", "--pod-name=x"], env, "3");

it("WM-1 refuses waiting Mountpoint Pods that nothing would end", () => {
  expect(() => warmConfig("--warm-per-node=1")).toThrow("--warm-owner must be set");
  expect(warmConfig("--warm-per-node=1", "--warm-owner=s3-csi-warm").warm).toEqual({
    perNode: 1,
    owner: "s3-csi-warm",
    releaseNamespace: "kube-system",
  });
});

it("takes the preempting class only where headroom is turned on", () => {
  const { headroom, mountpointPods } = reconcilerConfigFrom([], headroomOn, "3");
  expect(headroom).toMatchObject({ enabled: true, priorityClassName: "headroom" });
  expect(mountpointPods.preemptingPriorityClassName).toBe("preempting");
  const off = reconcilerConfigFrom(["--headroom-enabled=false"], headroomOn, "3");
  expect(off.headroom.enabled).toBe(false);
  expect(off.mountpointPods.preemptingPriorityClassName).toBe("usual");
});

it("lets a headroom image of its own wait by itself", () => {
  const args = ["--headroom-image=pause:3", "--headroom-image-pull-policy=Always"];
  const { headroom } = reconcilerConfigFrom(args, headroomOn, "3");
  expect(headroom).toMatchObject({ image: "pause:3", imagePullPolicy: "Always", command: [] });
});

it.for([
  ["--headroom-enabled=perhaps", '--headroom-enabled must be true or false, but is "perhaps"'],
  ["--headroom-enabled=true", "--mountpoint-headroom-priority-class-name must be set with --headroom-enabled=true"],
] as const)("refuses %s", ([flag, problem]) => {
  expect(() => reconcilerConfigFrom([flag], env, "3")).toThrow(problem);
});

it("joins CA bundles with the driver's own image, unless another is named", () => {
  const { ca } = reconcilerConfigFrom([], { ...env, TLS_CA_CERT_CONFIGMAP: "our-ca" }, "3").mountpointPods;
  expect(ca).toEqual({
    configMap: "our-ca",
    checksum: "",
    image: "driver:3",
    imagePullPolicy: "IfNotPresent",
    resources: { requests: { cpu: "10m", memory: "16Mi" }, limits: { memory: "64Mi" } },
  });
});

it("takes what our chart passes about Mountpoint Pods", () => {
  const given = {
    MOUNTPOINT_RESOURCES: '{"requests":{"cpu":1,"memory":"64Mi"},"limits":null}',
    MOUNTPOINT_TOLERATIONS: '[{"key":"gpu","operator":"Exists"}]',
    MOUNTPOINT_IMAGE_PULL_SECRETS: "one, two",
    MOUNTPOINT_USER_BY: "platform",
    MOUNTPOINT_LABELS: '{"team":"storage"}',
    MOUNTPOINT_ANNOTATIONS: '{"example.com/scan":"no"}',
  };
  expect(reconcilerConfigFrom([], { ...env, ...given }, "3").mountpointPods).toMatchObject({
    resources: { requests: { cpu: "1", memory: "64Mi" }, limits: {} },
    tolerations: [{ key: "gpu", operator: "Exists" }],
    imagePullSecrets: ["one", "two"],
    userBy: "platform",
    extra: { labels: { team: "storage" }, annotations: { "example.com/scan": "no" } },
  });
});

it("can leave Mountpoint Pods without any toleration", () => {
  expect(reconcilerConfigFrom(["--mountpoint-tolerations=[]"], env, "3").mountpointPods.tolerations).toEqual([]);
});

it.for([
  ["mountpoint-resources", "lots"],
  ["mountpoint-resources", "null"],
  ["mountpoint-resources", "[]"],
  ["mountpoint-resources", '{"limits":{"memory":"lots"}}'],
  ["mountpoint-resources", '{"limits":"1Gi"}'],
  ["mountpoint-tolerations", "Exists"],
  ["mountpoint-tolerations", '["Exists"]'],
  ["mountpoint-labels", "team=storage"],
  ["mountpoint-labels", '{"team":1}'],
  ["mountpoint-annotations", "[]"],
  ["mountpoint-user-by", "nobody"],
  ["tls-init-image-pull-policy", "Sometimes"],
  ["tls-init-resources-req-cpu", "some"],
] as const)("refuses --%s=%s", ([flag, value]) => {
  expect(() => reconcilerConfigFrom([`--${flag}=${value}`], env, "3")).toThrow(`--${flag} `);
});

it("reports every mistake at once", () => {
  const args = ["--mountpoint-image-pull-policy=Sometimes", "--health-port=http", "--v=-1", "--imgae=x", "extra"];
  expect(() => reconcilerConfigFrom(args, {}, "3")).toThrow(
    new Error(
      "unknown flag --imgae: did you mean --mountpoint-image?; " +
        'unexpected argument "extra"; ' +
        "--mountpoint-image or the MOUNTPOINT_IMAGE environment variable must be set: it is the image of Mountpoint Pods; " +
        '--mountpoint-image-pull-policy must be one of Always, IfNotPresent, Never, but is "Sometimes"; ' +
        "--mountpoint-version or the MOUNTPOINT_VERSION environment variable must be set: " +
        "it is the version of mount-s3 in the image; " +
        '--health-port must be an integer from 0 to 65535, but is "http"; ' +
        '--v must be an integer ≥ 0, but is "-1"; ' +
        "KUBERNETES_SERVICE_HOST is not set: run this program in a Pod, or with --kubeconfig",
    ),
  );
});

it("refuses a flag without its value", () => {
  expect(() => reconcilerConfigFrom(["--mountpoint-image"], env, "3")).toThrow("--mountpoint-image needs a value");
});

it("takes a value after a space, too", () => {
  expect(reconcilerConfigFrom(["--mountpoint-image", "other:4"], env, "3").mountpointPods.image).toBe("other:4");
});
