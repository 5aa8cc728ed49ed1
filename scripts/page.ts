/** Makes the page of src/ui: files as the browser loads them, which become part of the bundle that serves them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import type { PageFiles } from "../src/page/page-files.ts";

const sources = join(import.meta.dirname, "../src/ui");

/** Who serves it: `kubectl s3 ui`, or the program in the cluster. The page differs in how it gets its token. */
export type PageServedBy = "plugin" | "cluster";

const starts = { plugin: "page.tsx", cluster: "cluster-page.tsx" } as const satisfies Record<PageServedBy, string>;

export async function pageFiles(servedBy: PageServedBy = "plugin"): Promise<PageFiles> {
  const { outputFiles } = await build({
    entryPoints: { page: join(sources, starts[servedBy]), style: join(sources, "page.css") },
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
    "/page.css": { type: "text/css", text: built("/style.css") },
    "/icon.svg": { type: "image/svg+xml", text: readFileSync(join(sources, "icon.svg"), "utf8") },
  };
}

/** For the option `define` of the build that bundles the server. */
export async function pageDefinition(servedBy: PageServedBy): Promise<Record<string, string>> {
  return { PAGE_FILES: JSON.stringify(await pageFiles(servedBy)) };
}
