/** The programs a lab is made of, each built once from a package registry into the cache. */
import { existsSync } from "node:fs";
import { cp, readFile, rename } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { cached, keyOf } from "./cache.ts";
import { Problem } from "./problem.ts";
import { type Progress, type Task, timeLeft } from "./progress.ts";
import { attempt, CommandFailed, type RunOptions, run } from "./run.ts";

const here = dirname(fileURLToPath(import.meta.url));

export interface Parts {
  /** Directory with kube-apiserver and its family, csi-provisioner, etcd, helm and versitygw. */
  readonly kubernetes: string;
  readonly mountS3: string;
}

/**
 * What a lab needs. Go and Rust at the same time: each build alone leaves a core idle while it downloads, links or compiles
 * its last package. A build that fails stops the other.
 */
export async function buildParts(signal: AbortSignal, progress: Progress): Promise<Parts> {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  try {
    const [kubernetes, mountS3] = await Promise.all([
      goPart(both, progress, "kubernetes"),
      mountS3Part(both, progress),
    ]);
    return { kubernetes, mountS3 };
  } catch (error) {
    stop.abort(error);
    throw error;
  }
}

/** The tests of the CSI specification. Only `./dev test` asks for them, so that `./dev up` need not wait. */
export async function csiSanityPart(signal: AbortSignal, progress: Progress): Promise<string> {
  return join(await goPart(signal, progress, "csi-sanity"), "csi-sanity");
}

/** Simulated nodes. Only a benchmark asks for it, so that a first run need not build it. */
export async function kwokPart(signal: AbortSignal, progress: Progress): Promise<string> {
  return join(await goPart(signal, progress, "kwok"), "kwok");
}

/** MinIO and its administration client `mc`, another store. Only `./dev up --store minio` and the tests that start it ask for it: it takes minutes to build. */
export async function minioPart(signal: AbortSignal, progress: Progress): Promise<string> {
  return await goPart(signal, progress, "minio");
}

export const garageVersion = "2.5.0";

/** Garage, another store for tests. Only the ring `matrix` asks for it: it takes thirteen minutes of CPU time to build. */
export async function garagePart(signal: AbortSignal, progress: Progress): Promise<string> {
  return await cached(signal, {
    name: "garage",
    key: await keyOf([], [garageVersion]),
    build: (into) => progress.task("build garage", (task) => buildGarage(signal, into, task)),
  });
}

const kubernetesVersion = "1.36.3";
const [major, minor] = kubernetesVersion.split(".");
/** Without these, clients see v0.0.0 and refuse to talk. */
const versionFlags = Object.entries({ gitVersion: `v${kubernetesVersion}`, gitMajor: major, gitMinor: minor })
  .map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
  .join(" ");

/** The lab runs these programs without a debugger: without DWARF the compiler takes an eighth less CPU time (`go build std`, Go 1.26). */
const compilerFlags = "-gcflags=all=-dwarf=false";

async function goPart(signal: AbortSignal, progress: Progress, name: string): Promise<string> {
  const module = join(here, "parts", name);
  const linkFlags = name === "kubernetes" ? `-s -w ${versionFlags}` : "-s -w";
  const key = await keyOf([join(module, "go.mod"), join(module, "go.sum")], [compilerFlags, linkFlags]);
  return cached(signal, {
    name,
    key,
    build: (into) =>
      progress.task(`build ${name}`, async (task) => {
        const options = { signal, cwd: module, env: goEnvironment() };
        const flags = ["-trimpath", compilerFlags, "-ldflags", linkFlags];
        // Those that Go's own cache does not have yet.
        const list = ["go", "list", "-deps", ...flags, "-f", "{{if .Stale}}{{.ImportPath}}{{end}}", "tool"];
        const missing = (await retried(signal, () => run(list, withDownloads(options, task)))).trim().split("\n");
        // mount-s3 ends with a chain of crates that leaves a core idle: it goes first, and Go takes what is left.
        const argv = ["nice", "-n", "10", "go", "build", "-v", ...flags, "-o", `${into}/`, "tool"];
        const compiled = counted(task, { total: missing.length, unit: "packages" });
        await retried(signal, () => run(argv, withLines(options, compiled)));
        // The main package of etcd lies in a module named after what it is.
        if (existsSync(join(into, "server"))) await rename(join(into, "server"), join(into, "etcd"));
      }),
  });
}

function goEnvironment(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PATH: [process.env["PATH"], "/usr/local/go/bin"].join(delimiter),
    CGO_ENABLED: "0",
    GOTOOLCHAIN: "local",
    GOFLAGS: "-mod=readonly -buildvcs=false",
    // go.sum is committed; the checksum database does not know every module.
    GONOSUMDB: "*",
    // Compiler and linker collect garbage less often: a seventh less CPU time (`go build std`, Go 1.26) for 70 MB more in each process.
    GOGC: "400",
  };
}

/** A mount-s3 that is named or installed comes first; otherwise ours is built from the library's crate. */
async function mountS3Part(signal: AbortSignal, progress: Progress): Promise<string> {
  const named = process.env["MOUNT_S3"];
  if (named !== undefined && named !== "") {
    if (existsSync(named)) return named;
    throw new Problem(
      `MOUNT_S3 names ${named}, which does not exist`,
      "give the path of a mount-s3 program, or unset it",
    );
  }
  const installed = await attempt(["sh", "-c", "command -v mount-s3"], { signal });
  if (installed.code === 0) return installed.stdout.trim();
  const crate = join(here, "mount-s3");
  const key = await keyOf([join(crate, "Cargo.toml"), join(crate, "Cargo.lock"), join(crate, "src")]);
  const directory = await cached(signal, {
    name: "mount-s3",
    key,
    build: (into) => progress.task("build mount-s3", (task) => buildMountS3(signal, crate, into, task)),
  });
  return join(directory, "mount-s3");
}

async function buildMountS3(signal: AbortSignal, crate: string, into: string, task: Task): Promise<void> {
  const crates = (await readFile(join(crate, "Cargo.lock"), "utf8")).split("[[package]]").length - 1;
  const target = join(into, "target");
  const env = cargoEnvironment(target);
  const options = { signal, cwd: crate, env };
  await retried(signal, () => run(["cargo", "fetch", "--locked"], options));
  const compiling = counted(task, { total: crates, unit: "crates", counts: /^\s*Compiling /, isSlowerLater: true });
  await run(["cargo", "build", "--release", "--locked"], withLines(options, compiling));
  await cp(join(target, "release", "mount-s3"), join(into, "mount-s3"));
  await run(["rm", "-rf", target], { signal });
}

/** Its own profile optimises across all crates, which takes three times as long. */
async function buildGarage(signal: AbortSignal, into: string, task: Task): Promise<void> {
  const target = join(into, "target");
  const profile = { CARGO_PROFILE_RELEASE_LTO: "off", CARGO_PROFILE_RELEASE_OPT_LEVEL: "1" };
  const options = { signal, cwd: into, env: { ...cargoEnvironment(target), ...profile } };
  const install = ["cargo", "install", `garage@${garageVersion}`, "--locked", "--root", into];
  const compiling = counted(task, {
    total: garageCrates,
    unit: "crates",
    counts: /^\s*Compiling /,
    isSlowerLater: true,
  });
  await retried(signal, () => run(["nice", "-n", "10", ...install], withLines(options, compiling)));
  await cp(join(into, "bin", "garage"), join(into, "garage"));
  await run(["rm", "-rf", target, join(into, "bin")], { signal });
}

/** About as many as a build for Linux compiles; its lock file has more. */
const garageCrates = 290;

function cargoEnvironment(target: string): NodeJS.ProcessEnv {
  const PATH = [process.env["PATH"], join(homedir(), ".cargo", "bin")].join(delimiter);
  return { ...process.env, PATH, CARGO_TARGET_DIR: target };
}

/** Registries answer "too many requests" or nothing at all now and then. */
const attempts = 5;
const pauseMs = 10_000;
const passing = /429|too many requests|timeout|timed out|connection reset|EOF|TLS handshake|502|503|504/i;
const unreachable =
  /no such host|connection refused|network is unreachable|dial tcp|could not resolve|failed to download/i;

async function retried<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let attemptsLeft = attempts - 1; ; attemptsLeft -= 1) {
    try {
      return await work();
    } catch (error) {
      const text = error instanceof CommandFailed ? error.finished.stderr.slice(-4000) : "";
      if (attemptsLeft > 0 && passing.test(text)) await delay(pauseMs, undefined, { signal });
      else if (unreachable.test(text) || passing.test(text)) throw notAnswering(error);
      else throw error;
    }
  }
}

function notAnswering(error: unknown): Problem {
  return new Problem(
    "a package registry does not answer",
    "check the network and the proxy settings of go and cargo, then run the same command again; finished parts are kept",
    { cause: error },
  );
}

function withLines(options: RunOptions, onLine: (line: string) => void): RunOptions {
  return { ...options, onLine };
}

/**
 * `go list` downloads what the packages need, which is a third of what `go mod download` would. It loads as many modules at
 * the same time as it may use threads, and mostly waits.
 */
function withDownloads(options: RunOptions, task: Task): RunOptions {
  let seen = 0;
  const onLine = (line: string) => {
    if (line.startsWith("go: downloading")) task.at(`downloading module ${++seen}`);
  };
  return { ...options, env: { ...options.env, GOMAXPROCS: "16" }, onLine };
}

interface Counting {
  readonly total: number;
  readonly unit: string;
  /** Lines that stand for a finished unit. */
  readonly counts?: RegExp;
  /** Most units are small and come first: the time grows with the square of their number. */
  readonly isSlowerLater?: boolean;
}

/** One line per finished unit; cached ones print nothing, so the count may end below the total. */
function counted(task: Task, { total, unit, counts = /^\S+$/, isSlowerLater = false }: Counting) {
  const started = Date.now();
  let seen = 0;
  return (line: string): void => {
    if (!counts.test(line)) return;
    seen += 1;
    const share = Math.min(1, seen / total) ** (isSlowerLater ? 2 : 1);
    task.at(`${seen} of about ${total} ${unit}, ${timeLeft(Date.now() - started, share)}`);
  };
}
