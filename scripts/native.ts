/** Builds the syscall addon with the system's C compiler: `node scripts/native.ts`. No node-gyp, no download. */
import { execFileSync } from "node:child_process";
import { renameSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const source = pathInCheckout("native/syscall.c");
const addon = pathInCheckout("native/syscall.node");
const headers = pathInCheckout("node_modules/node-api-headers/include");

/** Makes sure that the addon is there and not older than its source. */
export function buildNative(): void {
  if (changedAt(addon) > changedAt(source)) return;
  const unfinished = `${addon}.${process.pid}`;
  const flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-pthread", "-s"];
  execFileSync("gcc", [...flags, `-I${headers}`, "-o", unfinished, source], { stdio: "inherit" });
  // Programs that run now keep the old file; nobody ever loads half of one.
  renameSync(unfinished, addon);
}

function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function pathInCheckout(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}

if (import.meta.main) buildNative();
