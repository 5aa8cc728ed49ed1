/** Pods that reach the object store with their own service account: MinIO is the store and its STS, the lab's API server the issuer. */
import { randomBytes } from "node:crypto";
import { GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { driverNamespace } from "../../lab/install-driver.ts";
import { network } from "../../lab/layout.ts";
import { signalProcess } from "../../lab/process-id.ts";
import { minioEndpoint } from "../../lab/s3.ts";
import type { AttachmentSpec } from "../../src/core/attachment.ts";
import { failureCause } from "../../src/core/failures/call-failures.ts";
import { bucketNames, Claims } from "../support/claims.ts";
import { openCluster, type PodRef, type Sandbox } from "../support/cluster.ts";
import { eventsIn, identityOf, killMountS3 } from "../support/healing.ts";
import { installedWith } from "../support/installed-with.ts";
import { documentsOfStranger } from "../support/issuer-documents.ts";
import { placesWithKeys } from "../support/key-search.ts";
import { Minio } from "../support/minio.ts";
import { MinioInLab } from "../support/minio-in-lab.ts";
import { everything, onlyBelow } from "../support/minio-users.ts";
import { attachmentsOf, mountS3Of, onNode } from "../support/mount-s3-process.ts";
import { mortalPlugin } from "../support/node-plugin.ts";
import { scaled } from "../support/scale.ts";
import { StoreFront, secretsOf, sessionKeysOf } from "../support/store-front.ts";
import { certificateFor } from "../support/tls-endpoint.ts";
import { eventsOf } from "../support/traces.ts";

const cluster = openCluster();
const node = "worker-1";
const controllerAccount = "s3-csi-driver-controller-sa";
const bucket = `identity-${randomBytes(4).toString("hex")}`;
/** STS gives no session shorter than 15 minutes: the node plugin renews them as if they were this long. */
const sessionSeconds = scaled("seconds until a session of a service account ends", 60, 900);
/** They are further and further apart: the thirteenth comes after four minutes. */
const vainRequests = scaled("requests in a row to which STS does not answer", 2, 13);
const long = { timeout: 240_000 + 1000 * sessionSeconds, interval: 250 };

const undo = new AsyncDisposableStack();
let minio: MinioInLab;
let fronts: Readonly<Record<"usual" | "outage" | "absent" | "clock" | "untrusted", StoreFront>>;
/** Two tenants; each may use what is below the prefix of its name, and nothing else. */
let one: Sandbox;
let other: Sandbox;

beforeAll(async () => {
  minio = undo.use(await MinioInLab.start(cluster));
  const trusted = await certificateFor(network.hub);
  fronts = {
    usual: undo.use(await StoreFront.open(minioEndpoint, { tls: trusted })),
    outage: undo.use(await StoreFront.open(minioEndpoint)),
    absent: undo.use(await StoreFront.open(minioEndpoint)),
    clock: undo.use(await StoreFront.open(minioEndpoint, { clockAheadMs: 3_600_000 })),
    untrusted: undo.use(await StoreFront.open(minioEndpoint, { tls: await certificateFor(network.hub) })),
  };
  const documents = undo.use(await documentsOfStranger());
  const ofStranger = undo.use(await Minio.start({ host: network.hub, discovery: documents.url }));
  const ofRoles = undo.use(await Minio.start({ host: network.hub, discovery: documents.url, by: "role" }));
  const values = [
    "podIdentity.enabled=true",
    ...storeWithSts("minio", fronts.usual.url, [`caCertData=${trusted.authority}`, "provisioner.enabled=true"]),
    ...storeWithSts("outage", fronts.outage.url),
    ...storeWithSts("absent", fronts.absent.url),
    ...storeWithSts("audience", minioEndpoint, ["audience=elsewhere.example"]),
    ...storeWithSts("issuer", ofStranger.url),
    ...storeWithSts("roles", ofRoles.url),
    ...storeWithSts("untrusted", fronts.untrusted.url),
    ...storeWithSts("clock", fronts.clock.url),
  ];
  undo.use(await installedWith(cluster, values, [`--session-limit-seconds=${sessionSeconds}`]));
  await cluster.makeBucket(bucket, {}, minio.s3);
  one = undo.use(await tenant("app", "second"));
  other = undo.use(await tenant("app"));
  await cluster.apply(
    accountManifest(one, "stranger"),
    accountManifest(one, "annotated", { "eks.amazonaws.com/role-arn": "arn:minio:iam:::role/of-account" }),
  );
});

afterAll(async () => {
  await undo.disposeAsync();
});

describe.concurrent("workloads with their own identity", () => {
  it("ID-1 each account reaches its own prefix of one bucket, and the store refuses a volume with the other's", async () => {
    for (const tenantOfTwo of [one, other]) {
      const pod = await readyPod(tenantOfTwo, "own", await volume(tenantOfTwo, "own"));
      await cluster.exec(pod, `echo "of ${tenantOfTwo.name}" > /data/file`);
      const Key = `${tenantOfTwo.name}/file`;
      const { Body } = await minio.s3.send(new GetObjectCommand({ Bucket: bucket, Key }));
      expect(await Body?.transformToString()).toBe(`of ${tenantOfTwo.name}\n`);
    }
    const claim = await volume(one, "foreign", { prefix: `${other.name}/` });
    const pod = await one.pod("foreign", { node, claim, account: "app" });
    await vi.waitFor(async () => expect(failureCause(await eventsOf(cluster, pod))).toBe("accessDenied"), long);
    expect(await eventsOf(cluster, pod)).toContain(`Could not mount "${bucket}"`);
    await cluster.deletePod(pod);
  });

  it("ID-1 two accounts with one claim have two Mountpoint Pods, equal ones share; attachments name account and namespace", async () => {
    const claim = await volume(one, "shared");
    await Promise.all([
      readyPod(one, "first", claim),
      readyPod(one, "second", claim),
      readyPod(one, "third", claim, "second"),
    ]);
    const specs = (await attachmentsOf(cluster, claim)).map(({ spec }) => spec as AttachmentSpec);
    const attachments = specs.map((spec) => ({
      source: spec.authenticationSource,
      account: `${spec.workloadNamespace}/${spec.workloadServiceAccountName}`,
      served: Object.values(spec.mountpointS3PodAttachments).map((workloads) => workloads.length),
    }));
    expect(attachments.toSorted((a, b) => a.account.localeCompare(b.account))).toEqual([
      { source: "pod", account: `${one.name}/app`, served: [2] },
      { source: "pod", account: `${one.name}/second`, served: [1] },
    ]);
  });

  it("ID-1 claims become buckets with credentials for the controller's own account, and these are deleted with them", async () => {
    await minio.allow(driverNamespace, controllerAccount, [everything]);
    await using own = await cluster.sandbox();
    const parameters = { store: "minio", authenticationSource: "pod", deletePolicy: "purge" };
    await using claims = await Claims.ofClass(own, { parameters });
    const made = await claims.volume("made");
    const { volumeAttributes } = made.spec.csi;
    expect(volumeAttributes).toMatchObject({ store: "minio", authenticationSource: "pod" });
    const { bucketName = "" } = volumeAttributes;
    expect(await bucketNames(minio.s3)).toContain(bucketName);
    await claims.deleteVolume("made", made);
    expect(await bucketNames(minio.s3)).not.toContain(bucketName);
  });

  it("ID-2 a Pod that starts while STS is away is told why it waits, and starts when STS is back", async () => {
    const { absent } = fronts;
    absent.isAway = true;
    const pod = await one.pod("absent", {
      node,
      claim: await volume(one, "absent", { store: "absent" }),
      account: "app",
    });
    const told = /STS of store absent \(.*does not answer/;
    await vi.waitFor(async () => expect(await eventsOf(cluster, pod)).toMatch(told), long);
    absent.isAway = false;
    await cluster.untilReady(pod);
  });

  it("ID-2 credentials are renewed without a remount; STS may be away until they end, which is reported, as its return is", {
    timeout: 600_000 + 5000 * sessionSeconds,
  }, async () => {
    const { outage } = fronts;
    const claim = await volume(one, "outage", { store: "outage" });
    const pod = await readyPod(one, "outage", claim);
    await cluster.exec(pod, "echo kept > /data/kept");
    const before = { pod: await identityOf(cluster, pod), mountS3: await mountS3Of(cluster, node, claim) };
    const [first] = sessionKeysOf(outage);

    await untilUnanswered(outage, vainRequests);
    outage.isAway = false;
    await vi.waitFor(async () => {
      const latest = sessionKeysOf(outage).at(-1) ?? "";
      expect(latest).not.toBe(first);
      expect(await keysOf(before.mountS3.uid)).toContain(latest);
    }, long);
    expect(await mountS3Of(cluster, node, claim)).toEqual(before.mountS3);
    expect(await cluster.exec(pod, "cat /data/kept")).toBe("kept\n");
    expect(await eventsIn(cluster, one.name)).not.toContain("outage Credentials");

    await untilUnanswered(outage, 1);
    // The session has not ended, and the next node plugin finds it in the memory of the node: nobody has to ask STS.
    signalProcess(await mortalPlugin(cluster, node), "SIGKILL");
    await killMountS3(cluster, node, claim);
    await vi.waitFor(async () => expect(await cluster.exec(pod, "cat /data/kept")).toBe("kept\n"), long);
    const events = () => eventsIn(cluster, one.name);
    const ended =
      /^outage CredentialsNotRenewed: The credentials of the volume have ended.*STS of store outage \(.*does not answer/m;
    await vi.waitFor(async () => expect(await events()).toMatch(ended), long);
    outage.isAway = false;
    await vi.waitFor(async () => expect(await events()).toMatch(/^outage CredentialsRenewed: /m), long);
    await minio.s3.send(new PutObjectCommand({ Bucket: bucket, Key: `${one.name}/later`, Body: "later\n" }));
    expect(await cluster.exec(pod, "cat /data/later")).toBe("later\n");
    expect(await identityOf(cluster, pod)).toEqual(before.pod);
  });

  it.for([
    ["audience", { store: "audience" }, "app", /audience elsewhere\.example: .*s3\.stores\.audience\.sts\.audience/],
    [
      "issuer",
      { store: "issuer" },
      "app",
      /Register the issuer of this cluster, https:\/\/kubernetes\.default\.svc, at STS/,
    ],
    [
      "role",
      { store: "roles", roleArn: "arn:minio:iam:::role/of-volume" },
      "app",
      /role arn:minio:iam:::role\/of-volume exists/,
    ],
    ["role of the account", { store: "roles" }, "annotated", /role arn:minio:iam:::role\/of-account exists/],
    ["policy", {}, "stranger", /a policy with the name system:serviceaccount:t-\w+:stranger/],
    [
      "certificate",
      { store: "untrusted" },
      "app",
      /certificate of STS is not trusted: .*s3\.stores\.untrusted\.sts\.caCertData/,
    ],
    ["clock", { store: "clock" }, "stranger", /clock of STS differs by 3[56]\d\d s from that of this node/],
  ] as const)(
    "ID-3 a wrong %s is named by the event, with the party that refused",
    async ([what, wish, account, fix]) => {
      const name = `wrong-${what.replaceAll(" ", "-")}`;
      const pod = await one.pod(name, { claim: await volume(one, name, wish), account });
      await vi.waitFor(async () => expect(await eventsOf(cluster, pod)).toMatch(fix), long);
      expect(await eventsOf(cluster, pod)).toContain(`STS of store ${"store" in wish ? wish.store : "minio"} (`);
      await cluster.deletePod(pod);
    },
  );
});

it("ID-2 after a loss of power while STS is away, the Pods of the node wait for their volumes until STS answers", async () => {
  const { outage } = fronts;
  const machine = cluster.lab.node("worker-2");
  const claim = await volume(one, "reboot", { store: "outage" });
  const pod = await one.pod("reboot", { node: machine.name, claim, account: "app" });
  await cluster.untilReady(pod);
  await cluster.exec(pod, "echo before > /data/before");
  outage.isAway = true;
  await machine.powerOff(AbortSignal.timeout(60_000));
  await machine.powerOn(AbortSignal.timeout(240_000));
  const told = /STS of store outage \(.*does not answer/;
  await vi.waitFor(async () => expect(await eventsOf(cluster, pod)).toMatch(told), long);
  outage.isAway = false;
  await vi.waitFor(async () => expect(await cluster.exec(pod, "cat /data/before")).toBe("before\n"), long);
});

it("ID-1 tokens, and keys for them, are in no Secret, log, event, object, disk file, environment or argument", async () => {
  const claim = await volume(one, "unseen");
  await readyPod(one, "unseen", claim);
  const all = Object.values(fronts);
  const ids = all.flatMap(sessionKeysOf);
  const unseen = [...all.flatMap(secretsOf), ...ids];
  expect(new Set(unseen).size).toBeGreaterThan(10);
  // An empty pattern would be found everywhere.
  expect(unseen).not.toContain("");

  // They are where they belong,
  const latest = ids.at(-1) ?? "";
  const inUse = await keysOf((await mountS3Of(cluster, node, claim)).uid);
  expect(ids.some((id) => inUse.includes(id))).toBe(true);
  // and a search that finds one which is planted elsewhere, finds no other.
  const metadata = { namespace: one.name, name: "planted" };
  await cluster.apply({ apiVersion: "v1", kind: "Secret", metadata, stringData: { key: latest } });
  expect(await placesWithKeys(cluster, unseen)).toEqual([`secrets ${one.name}/planted`]);
  await cluster.kubectl("delete", "secret", metadata.name, "-n", metadata.namespace);
  expect(await placesWithKeys(cluster, unseen)).toEqual([]);
});

/** Chart values of a store that is MinIO, whose sessions come from an STS at this address. */
function storeWithSts(name: string, url: string, sts: readonly string[] = []): readonly string[] {
  const store = `s3.stores.${name}`;
  return [
    `${store}.endpointUrl=${minioEndpoint}`,
    // All of them are MinIO with one client id, at several addresses.
    ...[`endpointUrl=${url}`, "audience=sts.amazonaws.com", ...sts].map((value) => `${store}.sts.${value}`),
  ];
}

async function tenant(...accounts: readonly string[]): Promise<Sandbox> {
  const sandbox = await cluster.sandbox();
  await cluster.apply(...accounts.map((name) => accountManifest(sandbox, name)));
  for (const name of accounts) await minio.allow(sandbox.name, name, onlyBelow(bucket, `${sandbox.name}/`));
  return sandbox;
}

function accountManifest({ name: namespace }: Sandbox, name: string, annotations: object = {}): object {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name, annotations } };
}

interface VolumeOfAccount {
  readonly store?: string;
  readonly prefix?: string;
  readonly roleArn?: string;
}

/** In the tenant's own prefix unless another is named. */
async function volume(sandbox: Sandbox, name: string, wish: VolumeOfAccount = {}): Promise<string> {
  const { store = "minio", prefix = `${sandbox.name}/`, roleArn } = wish;
  return await sandbox.volume({
    name: `${sandbox.name}-${name}`,
    mountOptions: [`prefix=${prefix}`],
    attributes: { bucketName: bucket, authenticationSource: "pod", store, ...(roleArn !== undefined && { roleArn }) },
  });
}

async function readyPod(sandbox: Sandbox, name: string, claim: string, account = "app"): Promise<PodRef> {
  const pod = await sandbox.pod(name, { node, claim, account });
  await cluster.untilReady(pod);
  return pod;
}

/** From now on STS does not answer; returns when it was asked in vain so many times. */
async function untilUnanswered(front: StoreFront, times: number): Promise<void> {
  const { unanswered } = front;
  front.isAway = true;
  await vi.waitFor(() => expect(front.unanswered).toBeGreaterThanOrEqual(unanswered + times), long);
}

/** The keys that mount-s3 has in the memory volume of its Mountpoint Pod. */
async function keysOf(uid: string): Promise<string> {
  const comm = `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~empty-dir/comm`;
  return await onNode(cluster, node, "cat", `${comm}/credentials/s3-csi-keys`);
}
