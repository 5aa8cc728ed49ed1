import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { call } from "../../../test/support/fake-node.ts";
import { Descriptor } from "../descriptor.ts";
import { readTable } from "./read-table.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "table-"));
});

afterEach(() => rmSync(directory, { recursive: true }));

function tableOf(text: string): Descriptor {
  const path = join(directory, "mountinfo");
  writeFileSync(path, text);
  return new Descriptor(openSync(path, "r"));
}

it.for([
  { text: "a\nb\n", limits: { mounts: 2, bytes: 4 }, read: "a\nb\n" },
  { text: "a\nb\nc\n", limits: { mounts: 2, bytes: 100 }, read: undefined },
  { text: "a\nbc\n", limits: { mounts: 2, bytes: 4 }, read: undefined },
  { text: "ä".repeat(200_000), limits: { mounts: 1, bytes: 400_000 }, read: "ä".repeat(200_000) },
])("SE-9 reads a table of $text.length characters within $limits, and again from its beginning", async (given) => {
  using table = tableOf(given.text);
  expect(await readTable(call, table, given.limits)).toBe(given.read);
  expect(await readTable(call, table, given.limits)).toBe(given.read);
});

it("SE-9 stops reading when the call has ended", async () => {
  using table = tableOf("a\n");
  const over = { ...call, signal: AbortSignal.abort(new Error("over")) };
  await expect(readTable(over, table, { mounts: 1, bytes: 100 })).rejects.toThrow("over");
});
