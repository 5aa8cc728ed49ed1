/** Builds the syscall addon and the program of waiting Mountpoint Pods with the system's C compiler: `node scripts/native.ts`. No node-gyp, no download. */
import { execFileSync } from "node:child_process";
import { renameSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const headers = pathInCheckout("node_modules/node-api-headers/include");
const flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-s"];

/** Makes sure that both are there and not older than their sources. */
export function buildNative(): void {
  build("native/syscall.c", "native/syscall.node", ["-fPIC", "-shared", "-pthread", `-I${headers}`]);
  build("native/wait-for-mount.c", "native/wait-for-mount", []);
}

function build(sourceInCheckout: string, targetInCheckout: string, furtherFlags: readonly string[]): void {
  const source = pathInCheckout(sourceInCheckout);
  const target = pathInCheckout(targetInCheckout);
  if (changedAt(target) > changedAt(source)) return;
  const unfinished = `${target}.${process.pid}`;
  execFileSync("gcc", [...flags, ...furtherFlags, "-o", unfinished, source], { stdio: "inherit" });
  // Programs that run now keep the old file; nobody ever loads half of one.
  renameSync(unfinished, target);
}

function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function pathInCheckout(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}

if (import.meta.main) buildNative();
