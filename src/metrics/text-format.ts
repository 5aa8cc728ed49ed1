/** The value of a label in the text format of Prometheus. */
export function escapedLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
