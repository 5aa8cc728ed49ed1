/**
 * What a scrape of the node plugin costs: time that the event loop is held, and memory, by the number of volumes. It needs no lab. Each row
 * is a process of its own, with the flags of V8 that the image has. Arguments: numbers of volumes.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { smallProcess, steadyMemory } from "../../scripts/bundle.ts";
import { comm, type NodeName, type PodName, type PodUid } from "../../src/core/names.ts";
import type { OtlpPoint } from "../../src/metrics/otlp.ts";
import type { LocalMountpointPod } from "../../src/node/cluster/mountpoint-pods.ts";
import { commDir } from "../../src/node/domain/target-path.ts";
import { VolumeFigures } from "../../src/node/figures/volume-figures.ts";
import { metricsOfVolumes } from "../../src/node/figures/volume-metrics.ts";
import { commVolumes } from "../../src/node/mounts/comm-volume.ts";
import { percentile, table } from "../table.ts";

const scrapes = 30;

function point(name: string, attributes: OtlpPoint["attributes"], kind: OtlpPoint["kind"] = "histogram"): OtlpPoint {
  return { name, kind, temporality: "cumulative", startNs: 1n, attributes, value: 123_456.5, count: 42 };
}

/** As mount-s3 exports them for a volume that lists, reads, writes and deletes. */
function exported(): readonly OtlpPoint[] {
  const s3 = ["ListObjectsV2", "HeadObject", "GetObject", "PutObject", "DeleteObject", "CompleteMultipartUpload"];
  const fuse = ["lookup", "getattr", "open", "read", "release", "opendir", "readdirplus", "create", "write", "flush"];
  return [
    ...s3.flatMap((s3_request) => [
      point("s3.request_count", { s3_request }, "sum"),
      point("s3.request_total_latency", { s3_request }),
      point("s3.request_first_byte_latency", { s3_request }),
      point("s3.request_errors", { s3_request, http_status: "404" }, "sum"),
    ]),
    ...fuse.map((fuse_request) => point("fuse.request_latency", { fuse_request })),
    ...["read", "write"].map((fuse_request) => point("fuse.io_size", { fuse_request })),
    point("process.memory_usage", {}, "gauge"),
  ];
}

function measure(volumes: number): Record<string, string> {
  globalThis.gc?.();
  const before = process.memoryUsage();
  const figures = Array.from({ length: volumes }, (_, index) => {
    const volume = new VolumeFigures();
    volume.add(exported());
    return [`mp-${String(index).padStart(56, "0")}` as PodName, volume] as const;
  });
  const pods = new Map(
    figures.map(([name], index) => {
      const pod = { name, uid: name as string as PodUid, claim: `tenant-${index % 20}/claim-${index}` };
      return [name, { ...pod, persistentVolume: `pvc-${index}` } as LocalMountpointPod] as const;
    }),
  );
  // A memory volume, as that of every Mountpoint Pod: the age of credentials is read from it at every scrape.
  const kubeletDir = mkdtempSync("/dev/shm/bench-metrics-");
  for (const { uid } of pods.values()) writeCredentials(kubeletDir, uid);
  const mountpointPods = { get: pods.get.bind(pods), store: pods };
  const kernel = { onMountChange: () => ({ [Symbol.dispose]: () => undefined }) };
  const parts = {
    ...{ node: "worker-1" as NodeName, receivers: { figures }, mountpointPods },
    comm: commVolumes(kubeletDir, kernel),
  };
  const times: number[] = [];
  const cpuTimes: number[] = [];
  let [bytes, series] = [0, 0];
  for (let scrape = 0; scrape < scrapes; scrape += 1) {
    const [started, cpuBefore] = [performance.now(), cpuMs()];
    // Written to a socket, every part becomes bytes.
    [bytes, series] = [0, 0];
    for (const part of metricsOfVolumes(parts)) {
      bytes += Buffer.from(part).length;
      series += part.startsWith("#") ? 0 : part.split("\n").length - 1;
    }
    times.push(performance.now() - started);
    cpuTimes.push(cpuMs() - cpuBefore);
  }
  const rss = process.memoryUsage.rss();
  rmSync(kubeletDir, { recursive: true });
  globalThis.gc?.();
  return {
    volumes: String(volumes),
    series: String(series),
    "text, KB": (bytes / 1000).toFixed(0),
    "scrape, median ms": percentile(times, 50).toFixed(1),
    "longest ms": Math.max(...times).toFixed(1),
    "CPU, median ms": percentile(cpuTimes, 50).toFixed(1),
    "CPU, longest ms": Math.max(...cpuTimes).toFixed(1),
    "kept, MB": ((process.memoryUsage().heapUsed - before.heapUsed) / 1e6).toFixed(1),
    "RSS, MB": ((rss - before.rss) / 1e6).toFixed(1),
  };
}

/** Of the thread that scrapes, which other programs on the same cores do not lengthen. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** The files that the node plugin writes for a mount. */
function writeCredentials(kubeletDir: string, uid: PodUid): void {
  const directory = join(commDir(kubeletDir, uid), comm.credentials);
  mkdirSync(directory, { recursive: true });
  for (const name of ["config", "keys", "print-credentials"]) writeFileSync(join(directory, name), "0123456789");
}

const only = process.argv.slice(2).find((word) => word.startsWith("--row="));
if (only === undefined) {
  const sizes = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [1, 50, 500];
  const rows = sizes.map((volumes) => {
    const argv = [...smallProcess, "--expose-gc", fileURLToPath(import.meta.url), `--row=${volumes}`];
    const env = { ...process.env, ...steadyMemory };
    return JSON.parse(execFileSync(process.execPath, argv, { encoding: "utf8", env })) as Record<string, string>;
  });
  process.stdout.write(`${table(rows)}\n`);
} else {
  process.stdout.write(JSON.stringify(measure(Number(only.slice("--row=".length)))));
}
