import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { sandboxOf } from "./sandbox.ts";

it.for([
  { started: ["/usr/local/bin/runsc-gofer\0--root=/run\0"], sandbox: "gVisor" },
  { started: ["/pause\0", "/opt/kata/libexec/virtiofsd\0--fd=3\0"], sandbox: "Kata Containers" },
  { started: ["/usr/bin/python3\0runsc\0"], sandbox: undefined },
  { started: [""], sandbox: undefined },
])("LC-23 processes started as $started belong to the sandbox $sandbox", ({ started, sandbox }) => {
  const proc = mkdtempSync(join(tmpdir(), "proc-"));
  onTestFinished(() => rmSync(proc, { recursive: true }));
  for (const [index, cmdline] of started.entries()) {
    mkdirSync(join(proc, String(index + 1)));
    writeFileSync(join(proc, String(index + 1), "cmdline"), cmdline);
  }
  // One more has ended.
  expect(sandboxOf(proc, [99, ...started.map((_cmdline, index) => index + 1)])).toBe(sandbox);
});
