/**
 * Makes the kubectl plugin: dist/plugin/kubectl-s3, one file that Node 20 or later runs, and the program by which kubectl completes its
 * arguments. Both belong into a directory of PATH.
 */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { pageDefinition } from "./page.ts";

const root = join(import.meta.dirname, "..");

export const pluginDirectory = join(root, "dist/plugin");

/** kubectl finds plugins by the names of files: `kubectl s3` runs `kubectl-s3`. Such a file has no extension, so it is CommonJS. */
export async function buildPlugin(directory: string): Promise<string> {
  const outfile = join(directory, "kubectl-s3");
  mkdirSync(directory, { recursive: true });
  await build({
    entryPoints: [join(root, "src/bin/kubectl-s3.ts")],
    outfile,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    define: await pageDefinition("plugin"),
    // A library of client-node still uses Node's own punycode: Node 21 and later would warn the user at every call.
    banner: { js: "#!/usr/bin/env node\nprocess.noDeprecation = true;" },
    legalComments: "none",
    logLevel: "warning",
  });
  chmodSync(outfile, 0o755);
  // This checkout is a package of ES modules; elsewhere a file without an extension is CommonJS by itself.
  writeFileSync(join(directory, "package.json"), '{ "type": "commonjs" }\n');
  // Quotes keep an empty last word, which means "complete the next argument".
  const complete = '#!/bin/sh\nexec kubectl-s3 __complete -- "$@"\n';
  writeFileSync(join(directory, "kubectl_complete-s3"), complete, { mode: 0o755 });
  return outfile;
}

if (import.meta.main) process.stdout.write(`${await buildPlugin(pluginDirectory)}\n`);
