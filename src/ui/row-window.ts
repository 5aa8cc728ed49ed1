/** Pure: which rows of a long list are drawn. */

export interface RowWindow {
  readonly first: number;
  /** Exclusive. */
  readonly end: number;
}

/** Above and below what is visible, so that a short scroll shows no gap. */
const spareRows = 10;

export interface Scrolled {
  readonly count: number;
  readonly rowHeight: number;
  readonly top: number;
  readonly height: number;
}

export function rowWindow({ count, rowHeight, top, height }: Scrolled): RowWindow {
  const first = Math.max(0, Math.min(count, Math.floor(top / rowHeight)) - spareRows);
  const end = Math.min(count, Math.ceil((top + height) / rowHeight) + spareRows);
  return { first: Math.min(first, end), end };
}

/** Where to scroll so that a row is visible; undefined: it is. */
export function scrollTo(at: number, { rowHeight, top, height }: Omit<Scrolled, "count">): number | undefined {
  if (at * rowHeight < top) return at * rowHeight;
  if ((at + 1) * rowHeight > top + height) return (at + 1) * rowHeight - height;
  return undefined;
}
