import { expect, it } from "vitest";
import { printable, table } from "./table.ts";

it("aligns columns and shows what is empty as a dash", () => {
  const columns = [
    { title: "NAME", value: (row: readonly string[]) => row[0] ?? "" },
    { title: "BUCKET", value: (row: readonly string[]) => row[1] ?? "" },
  ];
  expect(
    table(columns, [
      ["long-name", "b"],
      ["x", ""],
    ]),
  ).toBe("NAME        BUCKET\nlong-name   b\nx           -\n");
});

it("lets no control character of an object reach the terminal", () => {
  expect(printable("a\u001B[2Jb\r\nc\u202Ed")).toBe("a [2Jb c d");
});

it("does not count colours for the width", () => {
  const columns = [
    { title: "A", value: (row: string) => row, paint: (_: string, text: string) => `<${text}>` },
    { title: "B", value: () => "b" },
  ];
  expect(table(columns, ["x"])).toBe("A   B\n<x>   b\n");
});
