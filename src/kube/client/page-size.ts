/** How many objects to ask for in one page of a list. */

/** As client-go asks for. */
export const largestPage = 500;
/**
 * The event loop stands still while a page is parsed, for 10 ms per MiB on an idle core and for 40 on a busy one. SC-5 allows 200 ms.
 */
export const pageLimitBytes = 4 * 1024 * 1024;
const wantedBytes = pageLimitBytes / 2;

/** The size of the next page after one with `bytes` for so many objects. Grows slowly: the next objects may be larger. */
export function nextPageSize(size: number, page: { readonly objects: number; readonly bytes: number }): number {
  if (page.objects === 0) return size;
  const fitting = Math.floor((wantedBytes * page.objects) / page.bytes);
  return Math.max(1, Math.min(fitting, 2 * size, largestPage));
}

/** The size of the next attempt after a page that was longer than its limit. Its real length is not known. */
export function smallerPageSize(size: number): number {
  return Math.max(1, Math.floor(size / 8));
}

/** Which object makes the pages of a list small. Costs as much as sending the objects, so only for pages that were too large. */
export function largestOf(objects: readonly unknown[]): { readonly largest?: string; readonly largestBytes: number } {
  let largestBytes = 0;
  let largest: unknown;
  for (const object of objects) {
    const bytes = JSON.stringify(object).length;
    if (bytes > largestBytes) [largestBytes, largest] = [bytes, object];
  }
  return largest === undefined ? { largestBytes } : { largest: nameOf(largest as Named), largestBytes };
}

interface Named {
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

function nameOf({ metadata }: Named): string {
  return metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
}
