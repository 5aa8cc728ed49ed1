/**
 * What metrics cost a running node plugin: memory, CPU time and requests to the API server with many real mounts, with metrics off and on in
 * turns. Every round mounts all volumes anew, because mount-s3 exports figures only if metrics were on when it was mounted.
 * Arguments: mounts, rounds, seconds of each measurement.
 */
import { setTimeout as delay } from "node:timers/promises";
import { auditedRequests, userOf } from "../../lab/audit.ts";
import { installDriver } from "../../lab/install-driver.ts";
import type { Progress } from "../../lab/progress.ts";
import { labels } from "../../src/core/names.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import { openCluster, type PodRef } from "../../test/support/cluster.ts";
import { figuresOf, nodePluginOn, nodeToMeasure, restartNodePlugins, untilPagedOut } from "../measured-plugin.ts";
import { percentile, table } from "../table.ts";

const [mounts = 50, rounds = 2, seconds = 120] = process.argv.slice(2).map(Number);
/** Twice as often as the ServiceMonitor does by default. */
const scrapeEveryMs = 15_000;
const volumesOfPod = 10;
const settings = {
  off: ["metrics.enabled=false"],
  on: ["metrics.enabled=true", "metrics.authorization=true"],
} as const;

const cluster = openCluster();
const quiet: Progress = { task: (_title, work) => work({ at: () => undefined }), say: () => undefined };
const install = (sets: readonly string[]) => installDriver(AbortSignal.timeout(300_000), cluster.lab, quiet, sets);
const node = await nodeToMeasure(cluster);
await using sandbox = await cluster.sandbox();
const token = await tokenOfScraper();
const claims: string[] = [];
for (let made = 0; made < mounts; made += 1) claims.push(await sandbox.volume({ mountOptions: ["allow-delete"] }));

const rows: Record<string, string>[] = [];
try {
  for (let round = 0; round < rounds; round += 1) {
    for (const name of ["off", "on"] as const) {
      const row = await measured(name, `app-${name}-${round}`);
      process.stderr.write(`${JSON.stringify(row)}\n`);
      rows.push(row);
    }
  }
} finally {
  await cluster.kubectl("delete", "clusterrolebinding", sandbox.name);
  await install([]);
}
process.stdout.write(`${mounts} mounts on ${node}, ${seconds} s each\n${table(rows)}`);

async function measured(name: keyof typeof settings, podName: string): Promise<Record<string, string>> {
  await install(settings[name]);
  await restartNodePlugins(cluster);
  const plugin = await nodePluginOn(cluster, node);
  const pods: PodRef[] = [];
  // A few at a time: that many mount-s3 at once would leave the node plugin no CPU time on a small machine.
  for (let first = 0; first < mounts; first += volumesOfPod) {
    const pod = await workload(`${podName}-${first}`, claims.slice(first, first + volumesOfPod));
    await cluster.untilReady(pod);
    pods.push(pod);
  }
  await untilPagedOut(cluster, plugin);
  const scrape = name === "on" ? () => scrapeOf(plugin) : undefined;
  // Exports come every 15 s, and the first scrapes make the text of every metric for the first time.
  await scrapedFor(40_000, scrape);
  const [before, asked] = [await figuresOf({ cluster, node }, plugin.metadata.uid), requests()];
  const startedMs = performance.now();
  const scrapes = await scrapedFor(seconds * 1000, scrape);
  const after = await figuresOf({ cluster, node }, plugin.metadata.uid);
  const tookMs = performance.now() - startedMs;
  const made = requests().slice(asked.length);
  for (const pod of pods) await cluster.deletePod(pod);
  await untilUnmounted();
  if (after.cpuMs < before.cpuMs) throw new Error("the node plugin was restarted while it was measured");
  return {
    metrics: name,
    "CPU until all were mounted, s": (before.cpuMs / 1000).toFixed(1),
    "RSS, MB": mb(after.residentKb),
    "of it anonymous, MB": mb(after.anonymousKb),
    "CPU, %": ((100 * (after.cpuMs - before.cpuMs)) / tookMs).toFixed(2),
    "requests to the API server": countsOf(made),
    "series of volumes": String(scrapes.at(-1)?.series ?? 0),
    "scrape, median ms":
      scrapes.length === 0
        ? ""
        : percentile(
            scrapes.map(({ ms }) => ms),
            50,
          ).toFixed(1),
  };
}

/** A Pod that reads a file of each of its volumes every ten seconds. */
async function workload(name: string, its: readonly string[]): Promise<PodRef> {
  const work = "for v in /v/*; do ls $v; echo hello > $v/$(hostname)-$$; cat $v/$(hostname)-$$; done";
  const again = "while true; do for v in /v/*; do cat $v/$(hostname)-$$; done; sleep 10; done";
  const container = {
    name: "app",
    image: "docker.io/library/busybox:1.37",
    command: ["sh", "-c", `(${work}; ${again}) > /dev/null 2>&1`],
    volumeMounts: its.map((claim) => ({ name: claim, mountPath: `/v/${claim}` })),
  };
  await cluster.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: sandbox.name },
    spec: {
      nodeSelector: { "kubernetes.io/hostname": node },
      terminationGracePeriodSeconds: 0,
      // The owner of the files of mount-s3.
      securityContext: { runAsUser: 1000 },
      containers: [container],
      volumes: its.map((claim) => ({ name: claim, persistentVolumeClaim: { claimName: claim } })),
    },
  });
  return { namespace: sandbox.name, name };
}

interface Scrape {
  readonly ms: number;
  readonly series: number;
}

/** Scrapes regularly for a time; without anything to scrape it only waits. */
async function scrapedFor(forMs: number, scrape: (() => Promise<Scrape>) | undefined): Promise<readonly Scrape[]> {
  const scrapes: Scrape[] = [];
  for (const end = performance.now() + forMs; performance.now() < end; ) {
    const nextMs = performance.now() + scrapeEveryMs;
    if (scrape !== undefined) scrapes.push(await scrape());
    await delay(Math.max(0, Math.min(nextMs, end) - performance.now()));
  }
  return scrapes;
}

async function scrapeOf({ status }: Pod & { status?: { podIP?: string } }): Promise<Scrape> {
  const startedMs = performance.now();
  const answer = await fetch(`http://${status?.podIP}:9808/metrics`, { headers: { authorization: `Bearer ${token}` } });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return { ms: performance.now() - startedMs, series: text.match(/^s3_csi_volume_/gm)?.length ?? 0 };
}

async function tokenOfScraper(): Promise<string> {
  const { name } = sandbox;
  await cluster.kubectl("create", "serviceaccount", "scraper", "-n", name);
  await cluster.apply({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "s3-csi-metrics-reader" },
    subjects: [{ kind: "ServiceAccount", name: "scraper", namespace: name }],
  });
  return (await cluster.kubectl("create", "token", "scraper", "-n", name, "--duration=2h")).trim();
}

/** Of the node plugin of the node, in order. */
function requests(): readonly string[] {
  return auditedRequests(cluster.lab.layout)
    .filter(({ user, stage }) => {
      const from = user.extra?.["authentication.kubernetes.io/node-name"] ?? [];
      return stage !== "ResponseStarted" && user.username === userOf("s3-csi-driver-sa") && from.includes(node);
    })
    .map(({ verb, objectRef: { resource, subresource } = { resource: "none" } }) =>
      [verb, resource, subresource].filter((word) => word !== undefined).join(" "),
    );
}

function countsOf(made: readonly string[]): string {
  const names = [...new Set(made)].toSorted();
  return names.map((each) => `${made.filter((one) => one === each).length} ${each}`).join(", ") || "0";
}

function isOurs({ metadata }: Pod): boolean {
  return claims.includes(metadata.labels?.[labels.volumeName] ?? "");
}

async function untilUnmounted(): Promise<void> {
  while ((await cluster.list<Pod>("pods", "-n", "mount-s3")).some(isOurs)) await delay(1000);
}

function mb(kb: number): string {
  return (kb / 1024).toFixed(1);
}
