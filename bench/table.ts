/** Results as a table that can be pasted into bench/README.md. */

export function table(rows: readonly Readonly<Record<string, string | number>>[]): string {
  const columns = Object.keys(rows[0] ?? {});
  const lines = rows.map((row) => cells(columns.map((column) => shown(row[column]))));
  return `${[cells(columns), cells(columns.map(() => "---")), ...lines].join("\n")}\n`;
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const rank = Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1);
  return sorted[rank] ?? Number.NaN;
}

function cells(values: readonly string[]): string {
  return `| ${values.join(" | ")} |`;
}

function shown(value: string | number | undefined): string {
  return typeof value === "number" ? Math.round(value).toString() : (value ?? "");
}
