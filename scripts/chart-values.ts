/** Writes docs/reference/chart-values.md: every value of the chart with its default and the comment that stands over it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isMap, type Pair, parseDocument, Scalar, type YAMLMap } from "yaml";

const checkout = join(import.meta.dirname, "..");
const valuesFile = join(checkout, "charts/scality-mountpoint-s3-csi-driver/values.yaml");
export const referenceFile = join(checkout, "docs/reference/chart-values.md");

interface Row {
  readonly name: string;
  readonly fallback: string;
  readonly text: string;
}

/** The document as the chart is now. */
export function reference(): string {
  const { contents } = parseDocument(readFileSync(valuesFile, "utf8"));
  const rows = rowsOf(contents as YAMLMap, "");
  return [
    "# Values of the chart",
    "",
    "<!-- Generated from values.yaml by `npm run chart-values`. -->",
    "",
    "Every value is optional. Values of 1.x and 2.x that are not listed are accepted without effect; the notes that Helm prints",
    "after an installation name those that are set. `node.s3EndpointUrl` and `node.s3Region` of 1.x still work, and take precedence over `s3.*`.",
    "",
    "| value | default | meaning |",
    "|---|---|---|",
    ...rows.map(({ name, fallback, text }) => `| \`${name}\` | ${fallback} | ${text} |`),
    "",
  ].join("\n");
}

/** A map with a comment but without defaults of its own is one value; one with defaults is a heading for those below it. */
function rowsOf(map: YAMLMap, prefix: string): readonly Row[] {
  return map.items.flatMap((pair, index) => {
    const name = `${prefix}${String((pair.key as Scalar).value)}`;
    const text = commentOf(map, pair, index);
    const { value } = pair;
    if (!isMap(value) || value.items.length === 0) return [{ name, fallback: shown(value), text }];
    const below = rowsOf(value, `${name}.`);
    return text === "" ? below : [{ name, fallback: "", text }, ...below];
  });
}

/** The parser gives the comment over the first key of a map to the map itself. */
function commentOf(map: YAMLMap, { key }: Pair, index: number): string {
  const own = (key as Scalar).commentBefore;
  const comment = (index === 0 ? (map.commentBefore ?? own) : own) ?? "";
  const last = comment.split(/\n\s*\n/).at(-1) ?? "";
  return last.replaceAll(/\s+/g, " ").replaceAll("|", String.raw`\|`).trim();
}

function shown(value: unknown): string {
  const json = value instanceof Scalar ? value.value : (value as { toJSON(): unknown } | null)?.toJSON();
  return `\`${JSON.stringify(json)}\``;
}

if (import.meta.main) writeFileSync(referenceFile, reference());
