/** `kubectl s3 doctor` finds what is wrong with a real installation, and nothing on a healthy one. */
import { expect, it } from "vitest";
import { annotations, startupTaintKey } from "../../src/core/names.ts";
import { Claims } from "../support/claims.ts";
import { openCluster, persistentVolumeManifest } from "../support/cluster.ts";
import { controllerAway } from "../support/controller-away.ts";
import { Doctor } from "../support/doctor.ts";
import { giveBackToHelm } from "../support/fields-of-helm.ts";
import { plantedAttachment, plantedPod, plantedPodName } from "../support/planted-attachment.ts";

const cluster = openCluster();
const doctor = new Doctor(cluster);
const long = { timeout: 240_000, interval: 200 };
const system = ["-n", "kube-system"] as const;

it("OP-4 doctor finds nothing on a healthy cluster with volumes in use", async () => {
  await using sandbox = await cluster.sandbox();
  await cluster.untilReady(await sandbox.pod("app", { claim: await sandbox.volume() }));
  // What tests before this one have left behind goes by itself.
  await expect.poll(() => doctor.findings(), long).toEqual([]);
  expect(await doctor.storeFinding()).toBeUndefined();
});

it("OP-4 doctor names parts of the installation that are missing or changed", async () => {
  await faulty("csidriver", "s3.csi.scality.com", async () => {
    await kubectl("delete", "csidriver", "s3.csi.scality.com");
    expect(await doctor.ids()).toContain("csidriver-missing");
  });
  await kubectl(
    "patch",
    "csidriver",
    "s3.csi.scality.com",
    "--type=merge",
    "-p",
    '{"spec":{"requiresRepublish":false}}',
  );
  expect(await doctor.ids()).toContain("csidriver-settings");
  await kubectl(
    "patch",
    "csidriver",
    "s3.csi.scality.com",
    "--type=merge",
    "-p",
    '{"spec":{"requiresRepublish":true}}',
  );
  await faulty("priorityclass", "mount-s3-critical", async () => {
    await kubectl("delete", "priorityclass", "mount-s3-critical");
    expect(await doctor.ids()).toContain("priority-class-missing");
  });
  await faulty("clusterrolebinding", "s3-csi-driver-controller-cluster-role-binding", async () => {
    await kubectl("delete", "clusterrolebinding", "s3-csi-driver-controller-cluster-role-binding");
    await expect.poll(() => doctor.ids(), long).toContain("rights-missing");
  });
  await kubectl("create", "quota", "doctor", "--hard=pods=0", "-n", "mount-s3");
  await expect.poll(() => doctor.ids(), long).toContain("quota-exhausted");
  await kubectl("delete", "quota", "doctor", "-n", "mount-s3");
  await expect.poll(() => doctor.findings(), long).toEqual([]);
});

it("OP-4 doctor names Secrets that are missing or lack keys, and credentials that the store refuses", async () => {
  await using sandbox = await cluster.sandbox();
  const csi = { nodePublishSecretRef: { name: "keys", namespace: sandbox.name } };
  await sandbox.volume({ csi, attributes: { bucketName: sandbox.bucket, authenticationSource: "secret" } });
  expect(await summaryOf("secret-missing")).toContain(`${sandbox.name}/keys`);
  await kubectl("create", "secret", "generic", "keys", "-n", sandbox.name, "--from-literal=access_key=x");
  expect(await summaryOf("secret-lacks-keys")).toContain("access_key_id and secret_access_key");

  await faulty("secret", "s3-secret", async () => {
    const wrong = Buffer.from("nobody").toString("base64");
    await kubectl("patch", "secret", "s3-secret", ...system, "-p", JSON.stringify({ data: { access_key_id: wrong } }));
    expect((await doctor.storeFinding())?.evidence).toMatch(/access key|credentials|InvalidAccessKeyId/i);
    await kubectl("delete", "secret", "s3-secret", ...system);
    expect(await summaryOf("secret-missing")).toContain("kube-system/s3-secret");
  });
  const unreachable = await doctor.storeFinding("http://10.77.0.1:1");
  expect(unreachable).toMatchObject({
    id: "store-unusable",
    summary: expect.stringContaining("http://10.77.0.1:1") as string,
  });
  expect(unreachable?.evidence).toMatch(/connect|refused|reach/i);
});

it("OP-4 doctor names claims without a bucket, and volumes with one handle", async () => {
  await using sandbox = await cluster.sandbox();
  const parameters = {
    "csi.storage.k8s.io/provisioner-secret-name": "none",
    "csi.storage.k8s.io/provisioner-secret-namespace": sandbox.name,
  };
  await using claims = await Claims.ofClass(sandbox, { parameters });
  await claims.claim("unserved");
  await expect.poll(() => doctor.ids(), long).toContain("claim-pending");
  const failed = await doctor.tryClass(claims.className, sandbox.name);
  expect(failed).toMatchObject([{ id: "class-unusable", evidence: expect.stringContaining("none") as string }]);
  await using working = await Claims.ofClass(sandbox);
  expect(await doctor.tryClass(working.className, sandbox.name)).toEqual([]);

  const first = await sandbox.volume();
  const twin = persistentVolumeManifest({ namespace: sandbox.name, name: `${first}-twin` }, sandbox.bucket, {
    csi: { volumeHandle: first },
  });
  await cluster.apply(twin);
  expect(await summaryOf("volume-handle-shared")).toContain(first);
  await cluster.kubectl("delete", "pv", `${first}-twin`);
});

it("OP-4 doctor names nodes without a plugin, with the startup taint, unregistered, silent, or with a wrong clock", async () => {
  const node = "worker-2";
  await using sandbox = await cluster.sandbox();
  await cluster.untilReady(await sandbox.pod("app", { node, claim: await sandbox.volume() }));
  const ahead = new Date(Date.now() + 600_000).toISOString().replace("Z", "000Z");
  const lease = JSON.stringify({ spec: { renewTime: ahead } });
  // kubelet writes it again every ten seconds.
  const skewed = async () => {
    await kubectl("patch", "lease", node, "-n", "kube-node-lease", "--type=merge", "-p", lease);
    return await doctor.ids();
  };
  await expect.poll(skewed, long).toContain("clock-skew");
  const silent = async () => {
    const conditions = [{ type: "Ready", status: "Unknown", reason: "Doctor" }];
    await kubectl("patch", "node", node, "--subresource=status", "-p", JSON.stringify({ status: { conditions } }));
    return await doctor.ids();
  };
  await expect.poll(silent, long).toContain("node-not-ready");
  // kubelet reports at the latest after its own period; its restart makes it report now.
  await cluster.lab.component(`${node}/kubelet`).restart(AbortSignal.timeout(240_000));
  await kubectl("wait", "--for=condition=Ready", `node/${node}`, "--timeout=240s");

  await kubectl("patch", "csinode", node, "--type=merge", "-p", '{"spec":{"drivers":[]}}');
  expect(await doctor.ids()).toContain("node-not-registered");

  await kubectl("patch", "daemonset/s3-csi-node", ...system, "--type=merge", "-p", selector("worker-1"));
  await expect.poll(() => doctor.ids(), long).toContain("node-without-plugin");
  await kubectl("taint", "node", node, `${startupTaintKey}=:NoSchedule`);
  expect(await summaryOf("startup-taint")).toContain(node);
  await kubectl("patch", "daemonset/s3-csi-node", ...system, "--type=merge", "-p", selector(null));
  await kubectl("rollout", "status", "daemonset/s3-csi-node", ...system, "--timeout=240s");
  await expect.poll(() => doctor.findings(), long).toEqual([]);
});

it("OP-4 doctor names a lease that nobody renews, parts that do not start, and versions that differ", async () => {
  await expect.poll(withStaleLease, long).toContain("lease-stale");
  await expect.poll(withoutLease, long).toContain("lease-missing");

  for (const [kind, container, id] of [
    ["deployment/s3-csi-controller", "s3-pod-reconciler", "controller-not-ready"],
    ["daemonset/s3-csi-node", "s3-plugin", "node-plugin-not-ready"],
  ] as const) {
    await kubectl("set", "image", kind, ...system, `${container}=example.invalid/none:1`);
    await expect.poll(() => doctor.ids(), long).toEqual(expect.arrayContaining([id, "versions-differ"]));
    await kubectl("rollout", "undo", kind, ...system);
    await kubectl("rollout", "status", kind, ...system, "--timeout=240s");
    await giveBackToHelm(cluster, kind, ...system);
  }
  await expect.poll(() => doctor.findings(), long).toEqual([]);
});

it("OP-4 doctor names attachments and Mountpoint Pods that are wrong, and workloads that nobody serves", async () => {
  await using sandbox = await cluster.sandbox();
  const volume = await sandbox.volume();
  const laterMs = 20 * 60_000;
  {
    await using _away = await controllerAway(cluster);
    expect(await doctor.ids()).toContain("controller-scaled-down");
    await using _planted = {
      [Symbol.asyncDispose]: async () => {
        await kubectl("delete", "s3pa", "--all");
        await kubectl("delete", "pods", "-n", "mount-s3", "-l", "planted=true", "--force");
      },
    };
    await sandbox.pod("unserved", { claim: volume, node: "worker-1" });
    await cluster.apply(
      plantedAttachment({ name: "stale", volume }),
      plantedAttachment({ name: "twin-1", volume, fsGroup: "7" }),
      plantedAttachment({ name: "twin-2", volume, fsGroup: "7" }),
      plantedAttachment({ name: "nowhere", volume, node: "gone" }),
      plantedAttachment({ name: "unowned", volume: "no-such-volume" }),
      ...["unscheduled", "unpulled", "crashing", "ended"].map((name) => plantedAttachment({ name, volume })),
      plantedPod({ name: "unscheduled", volume, nodeSelector: { nowhere: "true" } }),
      plantedPod({ name: "unpulled", volume, image: "example.invalid/none:1" }),
      plantedPod({ name: "crashing", volume, command: ["false"] }),
      plantedPod({ name: "ended", volume, command: ["false"], restartPolicy: "Never" }),
      plantedPod({ name: "orphaned", volume }),
      plantedPod({ name: "unending", volume, annotations: { [annotations.needsUnmount]: "true" } }),
      ...(["dead", "hung", "stuck"] as const).map((name) => plantedAttachment({ name, volume, node: "gone" })),
      ...["dead", "hung", "stuck"].map((name) => plantedPod({ name, volume })),
    );
    for (const health of ["dead", "hung", "stuck"]) {
      const status = { mountpointPods: { [plantedPodName(health)]: { health } } };
      await kubectl(
        "patch",
        "s3pa",
        `s3pa-${health}`,
        "--subresource=status",
        "--type=merge",
        "-p",
        JSON.stringify({ status }),
      );
    }
    const expected = [
      ...["attachment-stale", "attachments-duplicate", "attachment-without-node", "attachment-without-volume"],
      ...["mountpoint-pod-unschedulable", "mountpoint-pod-image", "mountpoint-pod-crashing", "mountpoint-pod-ended"],
      ...["mountpoint-pod-missing", "mountpoint-pod-orphaned", "mountpoint-pod-not-ending"],
      ...["mount-dead", "mount-hung", "mount-stuck", "workload-unassigned"],
    ];
    await expect.poll(() => doctor.ids(laterMs), long).toEqual(expect.arrayContaining(expected));
  }
  await expect.poll(() => doctor.findings(), long).toEqual([]);
});

/** The leader renews the lease within two seconds. */
async function withStaleLease(): Promise<readonly string[]> {
  const renewTime = new Date(Date.now() - 600_000).toISOString().replace("Z", "000Z");
  const patch = JSON.stringify({ spec: { renewTime } });
  await kubectl("patch", "lease", "s3-pod-reconciler", ...system, "--type=merge", "-p", patch);
  return await doctor.ids();
}

async function withoutLease(): Promise<readonly string[]> {
  await kubectl("delete", "lease", "s3-pod-reconciler", ...system, "--ignore-not-found");
  return await doctor.ids();
}

/** The DaemonSet on one node only; null: on all. */
function selector(value: string | null): string {
  return JSON.stringify({ spec: { template: { spec: { nodeSelector: { "kubernetes.io/hostname": value } } } } });
}

function kubectl(...args: readonly string[]): Promise<string> {
  return cluster.kubectl(...args);
}

async function summaryOf(id: string): Promise<string> {
  const found = (await doctor.findings()).filter((each) => each.id === id);
  return found.map(({ summary }) => summary).join("; ");
}

/** Puts the object back as it was, whatever the work has done to it. */
async function faulty(kind: string, name: string, work: () => Promise<void>): Promise<void> {
  const where = kind === "secret" ? system : [];
  const before = await cluster.get<{ metadata: Record<string, unknown> }>(kind, name, ...where);
  if (before === undefined) throw new Error(`there is no ${kind} ${name}`);
  const { uid: _, resourceVersion: __, creationTimestamp: ___, managedFields: ____, ...metadata } = before.metadata;
  try {
    await work();
  } finally {
    await cluster.kubectl("delete", kind, name, ...where, "--ignore-not-found");
    await cluster.lab.kubectl(["create", "-f", "-"], {
      signal: AbortSignal.timeout(60_000),
      input: JSON.stringify({ ...before, metadata }),
    });
  }
}
