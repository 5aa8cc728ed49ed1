/** The page as the browser loads it: made of src/ui by scripts/page.ts. */
import { UserError } from "../user-error.ts";

export interface PageFile {
  readonly type: string;
  readonly text: string;
}

/** By path, such as `/page.js`. */
export type PageFiles = Readonly<Record<string, PageFile>>;

/** The bundler puts the files in its place (`pageDefinition` of scripts/page.ts). */
declare const PAGE_FILES: PageFiles | undefined;

export function bundledPage(): PageFiles {
  if (typeof PAGE_FILES === "undefined")
    throw new UserError("the page is only in the bundled plugin", "run the bundle instead of its sources");
  return PAGE_FILES;
}
