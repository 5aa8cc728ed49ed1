import { describe, expect, it } from "vitest";
import { reconcilerConfigFrom } from "./config.ts";

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
      driverVersion: "3.0.0",
      mountpointVersion: "1.23.0",
    },
    apiServer: { host: "10.96.0.1", port: "443" },
    healthPort: undefined,
    candidate: undefined,
    cleanupIntervalMs: 120_000,
    staleAfterMs: 120_000,
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
    apiServer: { kubeconfig: "kubeconfig.json" },
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
  });
});

it.for(["POD_NAMESPACE", "POD_NAME"])("refuses %s alone", (variable) => {
  expect(() => reconcilerConfigFrom([], { ...env, [variable]: "x" }, "3")).toThrow(
    "--pod-namespace (or POD_NAMESPACE) and --pod-name (or POD_NAME) are of use only together: set both",
  );
});

it("accepts every flag of 2.x", () => {
  const names = [
    "mountpoint-preempting-priority-class-name",
    "mountpoint-headroom-priority-class-name",
    "headroom-image",
    "tls-ca-cert-configmap",
    "tls-init-image",
    "tls-init-image-pull-policy",
    "tls-init-resources-req-cpu",
    "tls-init-resources-req-memory",
    "tls-init-resources-lim-memory",
  ];
  expect(() =>
    reconcilerConfigFrom(
      names.map((name) => `--${name}=x`),
      env,
      "3",
    ),
  ).not.toThrow();
});

it("reports every problem at once", () => {
  const args = ["--mountpoint-image-pull-policy=Sometimes", "--health-port=http", "--v=-1", "--imgae=x", "extra"];
  expect(() => reconcilerConfigFrom(args, {}, "3")).toThrow(
    new Error(
      "invalid configuration: --imgae is not known; extra is not a flag; --mountpoint-image (or MOUNTPOINT_IMAGE) is not set; " +
        "--mountpoint-image-pull-policy is none of Always, IfNotPresent, Never: Sometimes; " +
        "--mountpoint-version (or MOUNTPOINT_VERSION) is not set; " +
        "outside a cluster --kubeconfig is needed; " +
        "--health-port is not a number from 0 on: http; " +
        "--v is not a number from 0 on: -1",
    ),
  );
});

it("refuses a flag without its value", () => {
  expect(() => reconcilerConfigFrom(["--mountpoint-image"], env, "3")).toThrow("--mountpoint-image has no value");
});

it("takes a value after a space, too", () => {
  expect(reconcilerConfigFrom(["--mountpoint-image", "other:4"], env, "3").mountpointPods.image).toBe("other:4");
});
