/** The policies' list of options is written by hand; mount-s3's own is what counts. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { only, render, repository } from "./rendered-chart.ts";

it("every option of mount-s3 is known to the policies for volumes and classes", () => {
  const source = readFileSync(join(repository, "lab/mount-s3/src/cli.rs"), "utf8");
  const fields = [...source.matchAll(/#\[arg\([^\]]*\blong\b[\s\S]*?\n +(?:pub )?(\w+):/g)].map(
    ([, name = ""]) => name,
  );
  const options = fields.map((name) => name.replaceAll("_", "-"));
  expect(options.length).toBeGreaterThan(40);
  const chart = render();
  for (const name of ["s3-csi-volumes-questionable", "s3-csi-storage-classes-questionable"]) {
    const variables = only(chart, "ValidatingAdmissionPolicy", name)["spec"].variables as readonly Variable[];
    const known = variables.find((variable) => variable.name === "known")?.expression;
    for (const option of options) expect(known).toContain(`'${option}'`);
  }
});

interface Variable {
  readonly name: string;
  readonly expression: string;
}
