/** Mountpoint Pods under the Pod Security profile that the chart enforces, on a real API server. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { NodeName, PodUid } from "../../src/core/names.ts";
import { installation } from "../../src/reconciler/domain/mountpoint-pod/installation.fixture.ts";
import { type MountpointPodConfig, mountpointPod } from "../../src/reconciler/domain/mountpoint-pod/mountpoint-pod.ts";
import { s3VolumeFrom } from "../../src/reconciler/domain/persistent-volume.ts";
import { only, render } from "../chart/rendered-chart.ts";
import { openCluster } from "../support/cluster.ts";
import { plainStores, usualIdentity } from "../support/fake-credentials.ts";
import { long } from "../support/stage.ts";

const cluster = openCluster();
const namespace = `t-${randomBytes(4).toString("hex")}`;

beforeAll(async () => {
  await cluster.apply(only(render({ "mountpointPod.namespace": namespace }), "Namespace"));
  // No Pod is accepted before its account is there.
  await vi.waitFor(() => cluster.kubectl("get", "serviceaccount", "default", "-n", namespace), long);
});

afterAll(async () => {
  await cluster.kubectl("delete", "namespace", namespace, "--wait=false");
});

const resources = { requests: { cpu: "10m", memory: "16Mi" }, limits: { memory: "64Mi" } };
const ca = { configMap: "our-ca", checksum: "", image: "driver", imagePullPolicy: "IfNotPresent", resources };

it.for<readonly [string, Partial<MountpointPodConfig>, Readonly<Record<string, string>>]>([
  ["as it comes", {}, {}],
  ["with a CA", { ca }, {}],
  ["with users of the platform", { userBy: "platform" }, {}],
  ["with a cache in memory", {}, { cache: "emptyDir", cacheEmptyDirMedium: "Memory", cacheEmptyDirSizeLimit: "1Gi" }],
  ["with a claim for the cache", {}, { cache: "ephemeral", cacheEphemeralStorageResourceRequest: "10Gi" }],
  ["with limits", {}, { mountpointContainerResourcesLimitsMemory: "1Gi" }],
  ["with labels and annotations", { extra: { labels: { team: "a" }, annotations: { "example.com/a": "b" } } }, {}],
])("SE-5, CH-8 a Mountpoint Pod %s is admitted without a word, and has no token", async ([, config, attributes]) => {
  const { said, pod } = await tried(made(config, attributes));
  expect(said).toBe("");
  expect(pod?.spec.automountServiceAccountToken).toBe(false);
  expect(pod?.spec.volumes.filter(({ projected }) => projected !== undefined)).toEqual([]);
  for (const one of [...(pod?.spec.containers ?? []), ...(pod?.spec.initContainers ?? [])]) {
    expect(one.securityContext).toMatchObject({ readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } });
  }
});

it("the profile is enforced: a Pod that may do more is refused", async () => {
  const pod = made({}, {});
  const [container] = pod.spec.containers;
  const securityContext = { ...container.securityContext, allowPrivilegeEscalation: true };
  const { said } = await tried({ ...pod, spec: { ...pod.spec, containers: [{ ...container, securityContext }] } });
  expect(said).toContain('violates PodSecurity "restricted:latest"');
});

function made(config: Partial<MountpointPodConfig>, attributes: Readonly<Record<string, string>>) {
  const csi = { driver: "s3.csi.scality.com", volumeHandle: "h", volumeAttributes: { bucketName: "b", ...attributes } };
  const volume = s3VolumeFrom(plainStores, { metadata: { name: "pv" }, spec: { csi } });
  if (volume === undefined) throw new Error("not a volume of ours");
  const purpose = {
    volume,
    identity: usualIdentity,
    workload: "uid" as PodUid,
    node: "node" as NodeName,
    generation: 0,
  };
  return mountpointPod({ ...installation, namespace, priorityClassName: "", ...config }, purpose);
}

interface Admitted {
  readonly spec: {
    readonly automountServiceAccountToken: boolean;
    readonly volumes: readonly { readonly projected?: object }[];
    readonly containers: readonly { readonly securityContext: object }[];
    readonly initContainers?: readonly { readonly securityContext: object }[];
  };
}

async function tried(pod: object): Promise<{ readonly said: string; readonly pod: Admitted | undefined }> {
  const argv = ["create", "--dry-run=server", "-o", "json", "-f", "-"];
  const options = { signal: AbortSignal.timeout(60_000), input: JSON.stringify(pod) };
  const { code, stdout, stderr } = await cluster.lab.tryKubectl(argv, options);
  return { said: stderr, pod: code === 0 ? (JSON.parse(stdout) as Admitted) : undefined };
}
