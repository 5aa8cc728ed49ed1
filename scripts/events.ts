/** Writes docs/reference/events.md: every event of the driver, and every cause of a failed call, with what to do. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { callFailures } from "../src/core/failures/call-failures.ts";
import { eventCatalogue } from "../src/core/failures/event-catalogue.ts";

const checkout = join(import.meta.dirname, "..");
export const eventsFile = join(checkout, "docs/reference/events.md");

/** Rings with a real API server: only these show an event. */
const rings = ["test/cluster", "test/node"];

/** The document as the code is now. */
export function eventsPage(): string {
  return [
    "# Events",
    "",
    "<!-- Generated from src/core/failures/event-catalogue.ts and src/core/failures/call-failures.ts by `npm run events`. -->",
    "",
    "`kubectl describe` shows the events of a Pod, claim or PersistentVolume. Every message gives the cause first and then what to do, in 1,024",
    "bytes at most. An event that occurs again is counted, not written again.",
    "",
    "## Events of the driver",
    "",
    "| reason | type | on | cause | what to do |",
    "|---|---|---|---|---|",
    ...Object.entries(eventCatalogue).map(([reason, entry]) => {
      const more = "see" in entry ? ` ([more](${entry.see}))` : "";
      return `| \`${reason}\` | ${entry.type} | ${entry.on.join(", ")} | ${entry.cause} | ${entry.fix}${more} |`;
    }),
    "",
    "A claim has the event of its volume only while a Pod uses it, except for `DriverCredentialsUsed` when its bucket is created.",
    "",
    "## Failed calls",
    "",
    "kubelet reports a failed mount as `FailedMount` on the Pod. csi-provisioner reports a bucket that cannot be created as",
    "`ProvisioningFailed` on the claim, and one that cannot be deleted as `VolumeFailedDelete` on the PersistentVolume. The text after",
    "`desc =` is that of the driver. Search for a part of it; `…` stands for names. If several rows match, the first one holds.",
    "",
    "| text in the message | in | cause | what to do |",
    "|---|---|---|---|",
    ...Object.values(callFailures).map(({ texts, events, cause, fix }) => {
      const shown = texts.map((text) => `\`${text}\``).join("<br>");
      return `| ${shown} | ${events.join(", ")} | ${cause} | ${fix} |`;
    }),
    "",
  ].join("\n");
}

/** Reasons and causes that no test of a ring with a real cluster names. */
export function unshown(): readonly string[] {
  const tests = rings.flatMap((ring) => testsIn(join(checkout, ring)));
  const isShown = (pattern: RegExp) => tests.some((test) => pattern.test(test));
  return [
    ...Object.keys(eventCatalogue).filter((reason) => !isShown(new RegExp(String.raw`\b${reason}\b`))),
    ...Object.keys(callFailures).filter((cause) => !isShown(new RegExp(`"${cause}"`))),
  ];
}

function testsIn(folder: string): readonly string[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".test.ts"));
  return files.map((name) => readFileSync(join(folder, name), "utf8"));
}

if (import.meta.main) writeFileSync(eventsFile, eventsPage());
