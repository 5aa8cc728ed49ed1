/** The four forms of an answer. Machines get the whole data, people a table or a text. */
import { stringify } from "yaml";

export const formats = ["table", "wide", "json", "yaml"] as const;
export type Format = (typeof formats)[number];

export function formatted(format: Format, data: unknown, forPeople: (isWide: boolean) => string): string {
  switch (format) {
    case "json":
      return `${JSON.stringify(data, null, 2)}\n`;
    case "yaml":
      return stringify(data);
    case "table":
    case "wide":
      return forPeople(format === "wide");
    default:
      return format satisfies never;
  }
}
