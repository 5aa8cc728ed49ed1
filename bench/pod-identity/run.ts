/**
 * What credentials for the service account of a Pod cost, beside the driver's own, in turns in one run: the steps of a first publish, the
 * round trip to STS, later publishes on the same mount, and the memory of the node plugin. MinIO is store and STS of both.
 * Arguments: first Pods of each kind, publishes on a mount of each kind.
 */
import { setTimeout as delay } from "node:timers/promises";
import { driverNamespace } from "../../lab/install-driver.ts";
import { minioAccount, minioEndpoint } from "../../lab/s3.ts";
import { type NodePublishVolumeRequest, NodeService } from "../../src/csi/gen/csi.ts";
import { openCluster, type PodRef } from "../../test/support/cluster.ts";
import { csiClient } from "../../test/support/csi-client.ts";
import { installedWith } from "../../test/support/installed-with.ts";
import { MinioInLab } from "../../test/support/minio-in-lab.ts";
import { onlyBelow } from "../../test/support/minio-users.ts";
import { csiSocketOf } from "../../test/support/mount-s3-process.ts";
import { publishRequestOf } from "../../test/support/publish-request.ts";
import { secretManifest } from "../../test/support/s3-accounts.ts";
import { StoreFront } from "../../test/support/store-front.ts";
import { figuresOf, nodePluginOn, nodeToMeasure, restartNodePlugins, untilPagedOut } from "../measured-plugin.ts";
import { percentile, table } from "../table.ts";

const [firsts = 10, publishes = 200] = process.argv.slice(2).map(Number);
const kinds = ["driver", "pod"] as const;
type Kind = (typeof kinds)[number];
const audience = "sts.amazonaws.com";

const cluster = openCluster();
const node = await nodeToMeasure(cluster);
await using undo = new AsyncDisposableStack();
const minio = undo.use(await MinioInLab.start(cluster));
const sts = undo.use(await StoreFront.open(minioEndpoint));
const secret = { namespace: driverNamespace, name: "keys-of-minio" };
undo.defer(async () => void (await cluster.kubectl("delete", "secret", secret.name, "-n", secret.namespace)));
await cluster.apply(secretManifest(secret, minioAccount));
const store = "s3.stores.minio";
const values = [
  `${store}.endpointUrl=${minioEndpoint}`,
  `${store}.credentialSecret.name=${secret.name}`,
  `${store}.sts.endpointUrl=${sts.url}`,
];
const withMetrics = ["metrics.enabled=true", "metrics.authorization=false", "podIdentity.enabled=true", ...values];
undo.use(await installedWith(cluster, withMetrics));
const sandbox = undo.use(await cluster.sandbox());
await cluster.makeBucket(sandbox.bucket, {}, minio.s3);

const steps = ["attachment", "pod", "credentials", "mounter", "mount", "bind"] as const;
type Steps = Readonly<Record<(typeof steps)[number], number>>;
const measured: Record<Kind, Steps[]> = { driver: [], pod: [] };
const roundTrips: number[] = [];
await first("driver", "warm-up");
for (let round = 0; round < firsts; round += 1) {
  for (const kind of kinds) measured[kind].push(await first(kind, `${kind}-${round}`));
}

const shared = { driver: await mounted("driver", "shared-driver"), pod: await mounted("pod", "shared-pod") };
using kubelet = csiClient(NodeService, csiSocketOf(cluster, node));
const times: Record<Kind, number[]> = { driver: [], pod: [] };
for (let made = 0; made < publishes; made += 1) {
  for (const kind of kinds) times[kind].push(await pair(shared[kind].request));
}

const memory: Record<Kind, number> = { driver: await memoryOf("driver"), pod: await memoryOf("pod") };

const ms = (each: readonly number[]) => percentile(each, 50).toFixed(1);
const sum = (each: Steps) => steps.reduce((all, step) => all + each[step], 0);
process.stdout.write(`${firsts} first Pods and ${publishes} publishes of each kind on ${node}, medians\n`);
process.stdout.write(
  table([
    ...steps.map((step) => row(`first publish: ${step}, ms`, (kind) => ms(measured[kind].map((each) => each[step])))),
    row("first publish: all steps, ms", (kind) => ms(measured[kind].map(sum))),
    row("publish on a shared mount, ms", (kind) => ms(times[kind])),
    row("node plugin with 10 mounts, anonymous MB", (kind) => (memory[kind] / 1024).toFixed(1)),
  ]),
);
process.stdout.write(
  `round trip to STS, as its front sees it: ${ms(roundTrips)} ms (median of ${roundTrips.length})\n`,
);

function row(what: string, figure: (kind: Kind) => string) {
  return { what, "credentials of the driver": figure("driver"), "of the service account": figure("pod") };
}

/** A volume of its own, and for `pod` a service account of its own: every Pod begins a session. */
async function volumeFor(kind: Kind, name: string): Promise<{ readonly claim: string; readonly account: string }> {
  const account = kind === "pod" ? name : "default";
  if (kind === "pod") {
    await cluster.kubectl("create", "serviceaccount", account, "-n", sandbox.name);
    await minio.allow(sandbox.name, account, onlyBelow(sandbox.bucket, `${name}/`));
  }
  const claim = await sandbox.volume({
    name: `${sandbox.name}-${name}`,
    mountOptions: [`prefix=${name}/`],
    attributes: { store: "minio", ...(kind === "pod" && { authenticationSource: "pod" }) },
  });
  return { claim, account };
}

/** How long each step of its publish took. */
async function first(kind: Kind, name: string): Promise<Steps> {
  const { claim, account } = await volumeFor(kind, name);
  const before = await stepSums();
  const exchanges = sts.exchanges.length;
  const pod = await sandbox.pod(name, { node, claim, account });
  await cluster.untilReady(pod);
  const after = await stepSums();
  for (const { tookMs } of sts.exchanges.slice(exchanges)) roundTrips.push(tookMs);
  await cluster.deletePod(pod);
  return Object.fromEntries(steps.map((step) => [step, after[step] - before[step]])) as unknown as Steps;
}

async function stepSums(): Promise<Steps> {
  const { status } = await nodePluginOn(cluster, node);
  const text = await (await fetch(`http://${status?.podIP}:9808/metrics`)).text();
  const of = (step: string) =>
    Number(new RegExp(`^s3_csi_publish_step_seconds_sum\\{step="${step}"\\} (\\S+)$`, "m").exec(text)?.[1] ?? 0);
  return Object.fromEntries(steps.map((step) => [step, of(step) * 1000])) as unknown as Steps;
}

async function mounted(kind: Kind, name: string) {
  const { claim, account } = await volumeFor(kind, name);
  const pod = await sandbox.pod(name, { node, claim, account });
  await cluster.untilReady(pod);
  return { pod, request: await requestOf(kind, { pod, claim, account }) };
}

interface Mounted {
  readonly pod: PodRef;
  readonly claim: string;
  readonly account: string;
}

/** What kubelet sends, with a token for `pod`. */
async function requestOf(kind: Kind, { pod, claim, account }: Mounted): Promise<NodePublishVolumeRequest> {
  const usual = await publishRequestOf(sandbox, pod, claim);
  const ofPod = {
    "csi.storage.k8s.io/pod.namespace": sandbox.name,
    "csi.storage.k8s.io/pod.name": pod.name,
    "csi.storage.k8s.io/serviceAccount.name": account,
  };
  const volumeContext = { ...usual.volumeContext, ...ofPod, store: "minio" };
  if (kind === "driver") return { ...usual, volumeContext };
  const token = (await cluster.kubectl("create", "token", account, "-n", sandbox.name, "--audience", audience)).trim();
  const tokens = JSON.stringify({ [audience]: { token, expirationTimestamp: "2099-01-01T00:00:00Z" } });
  return {
    ...usual,
    volumeContext: {
      ...volumeContext,
      authenticationSource: "pod",
      "csi.storage.k8s.io/serviceAccount.tokens": tokens,
    },
  };
}

async function pair(request: NodePublishVolumeRequest): Promise<number> {
  const { volumeId, targetPath } = request;
  await kubelet.nodeUnpublishVolume({ volumeId, targetPath });
  const startedMs = performance.now();
  await kubelet.nodePublishVolume(request);
  return performance.now() - startedMs;
}

/** After a restart, with ten Pods on mounts of this kind and none of the other. */
async function memoryOf(kind: Kind): Promise<number> {
  for (const { pod } of Object.values(shared)) await cluster.deletePod(pod).catch(() => undefined);
  const pods: PodRef[] = [];
  for (let made = 0; made < 10; made += 1) pods.push((await mounted(kind, `memory-${kind}-${made}`)).pod);
  await restartNodePlugins(cluster);
  const plugin = await nodePluginOn(cluster, node);
  await untilPagedOut(cluster, plugin);
  // kubelet repeats every publish within 90 s, and brings the tokens.
  await delay(100_000);
  const { anonymousKb } = await figuresOf({ cluster, node }, plugin.metadata.uid);
  for (const pod of pods) await cluster.deletePod(pod);
  return anonymousKb;
}
