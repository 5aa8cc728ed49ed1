/** Columns as kubectl aligns them: capital titles, three spaces between columns. */

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  /** Applied after alignment, so that colours do not count for the width. */
  readonly paint?: (row: Row, text: string) => string;
  /** Shown only in `-o wide`. */
  readonly wide?: boolean;
}

export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const cells = rows.map((row) => columns.map(({ value }) => printable(value(row)) || "-"));
  const widths = columns.map(({ title }, at) => Math.max(title.length, ...cells.map((line) => width(line[at] ?? ""))));
  const head = columns.map(({ title }, at) => padded(title, widths, at)).join("   ");
  const body = rows.map((row, line) =>
    columns
      .map(({ paint = (_, text) => text }, at) => {
        const text = cells[line]?.[at] ?? "";
        return paint(row, text) + padding(text, widths, at);
      })
      .join("   "),
  );
  return [head, ...body].map((line) => `${line.trimEnd()}\n`).join("");
}

/** Texts come from objects that tenants write: no control character reaches the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();
}

function padded(text: string, widths: readonly number[], at: number): string {
  return text + padding(text, widths, at);
}

/** The last column needs none. */
function padding(text: string, widths: readonly number[], at: number): string {
  return at === widths.length - 1 ? "" : " ".repeat(Math.max(0, (widths[at] ?? 0) - width(text)));
}

function width(text: string): number {
  return Array.from(text).length;
}
