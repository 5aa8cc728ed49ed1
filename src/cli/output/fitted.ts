/** Pure: as much of a text as a screen shows at once. */
import { stripVTControlCharacters } from "node:util";

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** The beginning of the body and the whole foot. What is left out is counted, because it would scroll the beginning away. */
export function fitted(body: string, foot: string, { columns, rows }: ScreenSize): string {
  const lines = linesOf(body);
  // The last line of the screen is where the cursor stands.
  const room = rows - 1 - heightOf(linesOf(foot), columns);
  if (heightOf(lines, columns) <= room) return body + foot;
  const shown: string[] = [];
  for (let used = 1; shown.length < lines.length; ) {
    const line = lines[shown.length] ?? "";
    used += heightOf([line], columns);
    if (used > room) break;
    shown.push(line);
  }
  return `${[...shown, `… ${lines.length - shown.length} more lines: kubectl s3 tree`].join("\n")}\n${foot}`;
}

function linesOf(text: string): readonly string[] {
  return text.replace(/\n$/, "").split("\n");
}

/** Long lines wrap. Sequences for colours take no room. */
function heightOf(lines: readonly string[], columns: number): number {
  const widths = lines.map((line) => stripVTControlCharacters(line).length);
  return widths.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
}
