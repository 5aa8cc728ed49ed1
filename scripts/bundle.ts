/**
 * Makes dist/<arch>/, our part of the image's file system: one bundle per program of src/bin, the addon, Node itself,
 * and a launcher for every command that manifests call. `COPY dist/<arch>/ /` installs it.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { comm, waitArgument } from "../src/core/names.ts";
import { printCredentials } from "../src/node/credentials/profile.ts";
import { buildNative } from "./native.ts";
import { pageDefinition } from "./page.ts";

/**
 * For a small, steady process: a CSI server stays at 68 MB after thousands of calls; with the defaults of V8 it takes
 * 117 MB after one thousand. Several of these are refused in NODE_OPTIONS. Not for a program that must start fast or
 * grow: the cached code of Node's own modules is made for the default settings, and without it a start takes 20 ms more.
 */
export const smallProcess = [
  "--max-semi-space-size=1",
  "--max-old-space-size=48",
  "--single-threaded",
  "--v8-pool-size=0",
  "--optimize-for-size",
  "--no-opt",
  "--no-maglev",
] as const;

/**
 * For the reconciler, which grows with the S3 workloads of a cluster but reads every Pod once when it starts: what is read
 * and dropped dies young. Without a limit the room for the young stays as large as that first reading made it; and what
 * outlived it by chance, up to 30 MB, stays until the heap has doubled, unless size goes before speed. With that flag alone V8 collects
 * the whole heap after it has grown by less than a third, which costs a large heap more CPU time than all that the reconciler does while it
 * lists the cluster; without it, the heap becomes four times as large as what is in use. Half is as fast, and takes a third of the
 * memory. The room for the young stays at 1 MB with these flags: collecting it takes a quarter of the CPU time while many workloads are
 * attached, and with 4 MB it takes a tenth, but 10,000 Pods of others then leave 10 MB more behind (bench/README.md).
 */
export const growingProcess = ["--max-semi-space-size=2", "--optimize-for-size", "--heap-growing-percent=50"] as const;

/** glibc otherwise keeps freed memory once per thread. */
export const steadyMemory = { MALLOC_ARENA_MAX: "1" } as const;

/**
 * For a process whose first lists take much more than what it keeps. These are the defaults of glibc, but where they are not set, glibc raises
 * them when a large block is freed, up to 32 MB, and gives less back.
 */
export const returnedMemory = {
  ...steadyMemory,
  MALLOC_TRIM_THRESHOLD_: "131072",
  MALLOC_MMAP_THRESHOLD_: "131072",
} as const;

/** Bundles programs to `<outdir>/<name>.mjs`, readable, because operators see its stack traces. */
export async function bundle(
  programs: readonly string[],
  outdir: string,
  define: Readonly<Record<string, string>> = {},
): Promise<void> {
  await build({
    define,
    entryPoints: [...programs],
    outdir,
    outExtension: { ".js": ".mjs" }, // with .js and no package.json, Node parses twice to find out what it is
    bundle: true,
    platform: "node",
    target: "node24",
    format: "esm",
    legalComments: "none",
    logLevel: "warning",
    // grpc-js wants it only in admin services that we do not offer; it would be a third of the bundle.
    external: ["@grpc/proto-loader"],
    // CommonJS packages look for Node's own modules with require, which an ES module does not have.
    banner: {
      js: [
        'import { createRequire as createRequireOfBundle } from "node:module";',
        "const require = createRequireOfBundle(import.meta.url);",
      ].join("\n"),
    },
  });
}

const root = join(import.meta.dirname, "..");
const home = "/opt/s3-csi";
/** As in TARGETARCH of a Dockerfile. */
const dist = join(root, "dist", process.arch === "x64" ? "amd64" : process.arch);

const programs = [
  "node",
  "end-watchdog",
  "controller",
  "reconciler",
  "mounter",
  "setup",
  "ui",
  "volume-bench",
] as const;
type Program = (typeof programs)[number];

/** The commands that manifests and Mountpoint Pods call. */
const launchers: readonly { readonly command: string; readonly script: string }[] = [
  {
    command: "scality-s3-csi-driver",
    // 2.x has one program for both, and its manifests choose by this variable.
    script: [
      `if [ "$CSI_CONTROLLER_ONLY" = true ]; then ${become("controller")}; fi`,
      become("node", smallProcess, steadyMemory),
    ].join("\n"),
  },
  { command: "scality-csi-controller", script: become("reconciler", growingProcess, returnedMemory) },
  {
    command: "scality-s3-csi-mounter",
    // A Mountpoint Pod without a volume waits in a smaller program, which becomes the mounter.
    script: [
      `if [ "$1" = ${waitArgument} ]; then shift; exec ${home}/wait-for-mount ${comm.containerPath} ${home}/node ${home}/mounter.mjs "$@"; fi`,
      become("mounter"),
    ].join("\n"),
  },
  { command: "scality-s3-csi-setup", script: become("setup") },
  { command: "scality-s3-csi-ui", script: become("ui", growingProcess, returnedMemory) },
  { command: "scality-s3-csi-volume-bench", script: become("volume-bench") },
];

/** No shell stays behind, so signals reach the program. */
function become(
  program: Program,
  flags: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): string {
  const exported = Object.entries(environment).map(([name, value]) => `export ${name}=${value}\n`);
  return `${exported.join("")}exec ${[`${home}/node`, ...flags, `${home}/${program}.mjs`, '"$@"'].join(" ")}`;
}

async function makeDist(): Promise<void> {
  rmSync(dist, { recursive: true, force: true });
  await bundle(programs.map(sourceOf), join(dist, home), await pageDefinition("cluster"));
  buildNative();
  copyFileSync(join(root, "native/syscall.node"), join(dist, home, "syscall.node"));
  copyFileSync(join(root, "native/wait-for-mount"), join(dist, home, "wait-for-mount"));
  copyFileSync(join(root, "scripts/print-credentials.sh"), join(dist, printCredentials));
  chmodSync(join(dist, printCredentials), 0o755);
  // Its symbols for debuggers are 18 MB; those that the addon needs are kept.
  const node = join(root, `node_modules/node-linux-${process.arch}/bin/node`);
  execFileSync("strip", ["-o", join(dist, home, "node"), node]);
  // Not bin/: in the base image that is a link to usr/bin, and builders differ in how they copy a directory over a link.
  mkdirSync(join(dist, "usr/bin"), { recursive: true });
  for (const { command, script } of launchers) {
    writeFileSync(join(dist, "usr/bin", command), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
}

function sourceOf(program: Program): string {
  return join(root, `src/bin/${program}.ts`);
}

if (import.meta.main) await makeDist();
