/** Breaks every rule of the linter that holds the architecture, and expects it to object. A gate nobody saw closed is decoration. */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";

const checkout = dirname(import.meta.dirname);

interface Row {
  readonly file: string;
  readonly code: string;
  /** Part of what the linter says; undefined: it must be content. */
  readonly objection: string | undefined;
}

const pure = "core is pure";
const noIo = "core does no I/O";

const rows: readonly Row[] = [
  {
    file: "src/core/value.ts",
    code: 'import { call } from "../runtime/call.ts";\nexport const x = call;',
    objection: pure,
  },
  {
    file: "src/core/type.ts",
    code: 'import type { Call } from "../runtime/call.ts";\nexport type X = Call;',
    objection: pure,
  },
  { file: "src/core/again.ts", code: 'export { call } from "../kube/call.ts";', objection: pure },
  { file: "src/core/later.ts", code: 'export const x = await import("../kube/call.ts");', objection: pure },
  {
    file: "src/core/deep/nested.ts",
    code: 'import { a } from "../../linux/a.ts";\nexport const x = a;',
    objection: pure,
  },
  {
    file: "src/core/disk.ts",
    code: 'import { readFileSync } from "node:fs";\nexport const x = readFileSync;',
    objection: noIo,
  },
  {
    file: "src/core/promises.ts",
    code: 'import { readFile } from "node:fs/promises";\nexport const x = readFile;',
    objection: noIo,
  },
  {
    file: "src/core/fine.ts",
    code: 'import { join } from "node:path/posix";\nexport const x = join;',
    objection: undefined,
  },
  {
    file: "src/core/hash.ts",
    code: 'import { createHash } from "node:crypto";\nexport const x = createHash;',
    objection: undefined,
  },
  { file: "src/core/env.ts", code: 'export const x = process.env["HOME"];', objection: "process.env" },
  {
    file: "src/runtime/knows.ts",
    code: 'import { x } from "../core/names.ts";\nexport const y = x;',
    objection: "runtime is plumbing",
  },
  {
    file: "src/kube/sideways.ts",
    code: 'import { x } from "../linux/fuse.ts";\nexport const y = x;',
    objection: "adapters do not know each other",
  },
  {
    file: "src/kube/counts.ts",
    code: 'import { x } from "../metrics/queues.ts";\nexport const y = x;',
    objection: "adapters do not know each other",
  },
  {
    file: "src/metrics/sideways.ts",
    code: 'import { x } from "../kube/client.ts";\nexport const y = x;',
    objection: "adapters do not know each other",
  },
  { file: "src/kube/own.ts", code: 'import { x } from "./client.ts";\nexport const y = x;', objection: undefined },
  {
    file: "src/linux/upward.ts",
    code: 'import type { X } from "../node/publish.ts";\nexport type Y = X;',
    objection: "adapters do not know the programs",
  },
  {
    file: "src/node/across.ts",
    code: 'import { x } from "../reconciler/decide.ts";\nexport const y = x;',
    objection: "the programs meet",
  },
  {
    file: "src/setup/across.ts",
    code: 'import { x } from "../node/publish.ts";\nexport const y = x;',
    objection: "the programs meet",
  },
  {
    file: "src/volume-bench/across.ts",
    code: 'import { x } from "../cli/bench/bench-pod.ts";\nexport const y = x;',
    objection: "the programs meet",
  },
  {
    file: "src/csi-controller/across.ts",
    code: 'import { x } from "../node/config.ts";\nexport const y = x;',
    objection: "the programs meet",
  },
  {
    file: "src/reconciler/provisions.ts",
    code: 'import { x } from "../csi-controller/access.ts";\nexport const y = x;',
    objection: "the programs meet",
  },
  {
    file: "src/s3/sideways.ts",
    code: 'import { x } from "../kube/client.ts";\nexport const y = x;',
    objection: "adapters do not know each other",
  },
  {
    file: "src/s3/upward.ts",
    code: 'import type { X } from "../csi-controller/access.ts";\nexport type Y = X;',
    objection: "adapters do not know the programs",
  },
  {
    file: "src/core/provisions.ts",
    code: 'import { x } from "../csi-controller/access.ts";\nexport const y = x;',
    objection: pure,
  },
  {
    file: "src/topology/reads.ts",
    code: 'import { x } from "../kube/client.ts";\nexport const y = x;',
    objection: "the topology is pure",
  },
  {
    file: "src/topology/disk.ts",
    code: 'import { readFileSync } from "node:fs";\nexport const x = readFileSync;',
    objection: "the topology does no I/O",
  },
  {
    file: "src/page/knows.ts",
    code: 'import { x } from "../cli/login.ts";\nexport const y = x;',
    objection: "what both servers of the page share",
  },
  {
    file: "src/page/fine.ts",
    code: 'import { x } from "../topology/paths.ts";\nimport { y } from "../core/names.ts";\nexport const z = [x, y];',
    objection: undefined,
  },
  {
    file: "src/ui-server/across.ts",
    code: 'import { x } from "../cli/login.ts";\nexport const y = x;',
    objection: "the programs meet",
  },
  {
    file: "src/node/down.ts",
    code: 'import { x } from "../kube/client.ts";\nexport const y = x;',
    objection: undefined,
  },
  {
    file: "src/mounter/up.ts",
    code: 'import { x } from "../bin/mounter.ts";\nexport const y = x;',
    objection: "the programs meet",
  },
  {
    file: "src/reconciler/decision/decide.ts",
    code: 'import { x } from "../observe/observe.ts";\nexport const y = x;',
    objection: "a decision sees only core",
  },
  {
    file: "src/reconciler/decision/new-statuses.ts",
    code: 'import { x } from "../../kube/client.ts";\nexport const y = x;',
    objection: "a decision sees only core",
  },
  {
    file: "src/reconciler/headroom/decide.ts",
    code: 'import { x } from "./act.ts";\nexport const y = x;',
    objection: "a decision sees only core",
  },
  {
    file: "src/reconciler/domain/workload.ts",
    code: 'import { x } from "../act/act.ts";\nexport const y = x;',
    objection: "a domain is pure",
  },
  {
    file: "src/csi-controller/domain/tags.ts",
    code: 'import type { Call } from "../../runtime/call.ts";\nexport type Y = Call;',
    objection: "a domain is pure",
  },
  {
    file: "src/node/domain/disk.ts",
    code: 'import { readFileSync } from "node:fs";\nexport const x = readFileSync;',
    objection: "a domain does no I/O",
  },
  {
    file: "src/node/domain/fine.ts",
    code: 'import { x } from "../../core/names.ts";\nimport { y } from "./other.ts";\nexport const z = [x, y];',
    objection: undefined,
  },
  {
    file: "src/reconciler/decision/entry-steps.ts",
    code: 'import { x } from "./new-statuses.ts";\nexport const y = x;',
    objection: undefined,
  },
  {
    file: "src/node/publish/plan.ts",
    code: 'import { x } from "node:timers/promises";\nexport const y = x;',
    objection: "a decision does no I/O",
  },
  { file: "src/core/default.ts", code: "const x = 1;\nexport default x;", objection: "default export" },
  { file: "src/core/any.ts", code: "export const x = (y: any): number => y as number;", objection: "any" },
  {
    file: "src/core/params.ts",
    code: "export const x = (a: number, b: number, c: number, d: number, e: number): number => a + b + c + d + e;",
    objection: "parameters",
  },
  { file: "src/core/long.ts", code: "export const [] = [];\n".repeat(301), objection: "too many lines" },
  {
    file: "src/kube/mocked.test.ts",
    code: 'import { vi } from "vitest";\nvi.mock("./client.ts");',
    objection: "Pass a fake as an argument instead",
  },
  {
    file: "src/kube/floating.ts",
    code: "export async function x(): Promise<void> {}\nexport function y(): void {\n  x();\n}",
    objection: "Promises must be awaited",
  },
];

let directory: string;
let objections: ReadonlyMap<string, string>;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "s3-csi-gates-"));
  for (const name of [".oxlintrc.json", "tsconfig.json", "package.json"])
    await cp(join(checkout, name), join(directory, name));
  await symlink(join(checkout, "node_modules"), join(directory, "node_modules"));
  for (const { file, code } of rows) {
    await mkdir(dirname(join(directory, file)), { recursive: true });
    await writeFile(join(directory, file), `${code}\n`);
  }
  objections = await lint(directory);
}, 60_000);

afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

it.for(rows.filter((row) => row.objection !== undefined))("refuses $file: $objection", ({ file, objection }) => {
  expect(objections.get(file)).toContain(objection);
});

it.for(rows.filter((row) => row.objection === undefined))("is content with $file", ({ file }) => {
  expect(objections.get(file)).toBeUndefined();
});

interface Diagnostic {
  readonly message: string;
  readonly help?: string;
  readonly filename: string;
}

async function lint(cwd: string): Promise<ReadonlyMap<string, string>> {
  const output = await new Promise<string>((resolve) => {
    const oxlint = join(checkout, "node_modules", ".bin", "oxlint");
    // It ends with 1, because it objects; what it says is all that counts.
    execFile(oxlint, ["--type-aware", "--format=json", "src"], { cwd, maxBuffer: 64 * 1024 * 1024 }, (_error, stdout) =>
      resolve(stdout),
    );
  });
  const { diagnostics } = JSON.parse(output) as { diagnostics: readonly Diagnostic[] };
  const byFile = new Map<string, string>();
  for (const { filename, message, help = "" } of diagnostics) {
    byFile.set(filename, `${byFile.get(filename) ?? ""}${message} ${help}\n`);
  }
  return byFile;
}
