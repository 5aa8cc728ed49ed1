/** The page as the browser loads it: made of src/ui by scripts/page.ts. */

export interface PageFile {
  readonly type: string;
  readonly text: string;
}

/** By path, such as `/page.js`. */
export type PageFiles = Readonly<Record<string, PageFile>>;

/** The bundler puts the files in its place (`pageDefinition` of scripts/page.ts). */
declare const PAGE_FILES: PageFiles | undefined;

/** Undefined: the program runs from its sources, which have no page. */
export function bundledPage(): PageFiles | undefined {
  return typeof PAGE_FILES === "undefined" ? undefined : PAGE_FILES;
}
