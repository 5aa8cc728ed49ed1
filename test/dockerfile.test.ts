import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const checkout = join(import.meta.dirname, "..");
const dockerfile = readFileSync(join(checkout, "Dockerfile"), "utf8");
const manifest = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8")) as Record<string, string>;

it("the labels of the image say what the package says", () => {
  expect(/^ARG VERSION=(.*)$/m.exec(dockerfile)?.[1]).toBe(manifest["version"]);
  const [instruction = ""] = /^LABEL (?:.*\\\n)*.*$/m.exec(dockerfile) ?? [];
  const labels = Object.fromEntries(
    [...instruction.matchAll(/([\w.]+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  );
  expect(labels).toEqual({
    "org.opencontainers.image.title": manifest["name"],
    "org.opencontainers.image.description": manifest["description"],
    "org.opencontainers.image.version": expect.stringContaining("{VERSION}"),
    "org.opencontainers.image.licenses": manifest["license"],
  });
});
