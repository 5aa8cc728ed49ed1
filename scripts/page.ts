/** Makes the page of `kubectl s3 ui` of src/ui: files as the browser loads them, which become part of the plugin's bundle. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import type { PageFiles } from "../src/page/page-files.ts";

const sources = join(import.meta.dirname, "../src/ui");

export async function pageFiles(): Promise<PageFiles> {
  const { outputFiles } = await build({
    entryPoints: [join(sources, "page.tsx"), join(sources, "page.css")],
    outdir: "/",
    write: false,
    bundle: true,
    minify: true,
    format: "esm",
    // Browsers of the last three years.
    target: ["chrome115", "firefox115", "safari16.4"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    logLevel: "warning",
  });
  const built = (path: string) => outputFiles.find((each) => each.path === path)?.text ?? "";
  return {
    "/": { type: "text/html", text: readFileSync(join(sources, "page.html"), "utf8") },
    "/page.js": { type: "text/javascript", text: built("/page.js") },
    "/page.css": { type: "text/css", text: built("/page.css") },
    "/icon.svg": { type: "image/svg+xml", text: readFileSync(join(sources, "icon.svg"), "utf8") },
  };
}

/** For the option `define` of the build that bundles src/cli. */
export async function pageDefinition(): Promise<Record<string, string>> {
  return { PAGE_FILES: JSON.stringify(await pageFiles()) };
}
