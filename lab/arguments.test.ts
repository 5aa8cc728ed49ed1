import { describe, expect, it } from "vitest";
import { parseArguments, takeLabName } from "./arguments.ts";

describe("options of a command", () => {
  it("are read in both forms, the rest stays in order", () => {
    const { options, rest } = parseArguments(
      ["a", "--name", "x", "--nodes=3", "--all", "b"],
      ["name", "nodes"],
      ["all"],
    );
    expect(Object.fromEntries(options)).toEqual({ name: "x", nodes: "3", all: "" });
    expect(rest).toEqual(["a", "b"]);
  });

  it("end at --", () => {
    const { options, rest, after } = parseArguments(["a", "--", "--name"], ["name"]);
    expect([options.size, rest, after]).toEqual([0, ["a"], ["--name"]]);
  });

  it.for([
    { args: ["--bogus"], problem: "--bogus is not known" },
    { args: ["--name"], problem: "--name needs a value" },
  ])("are refused with a reason: $args", ({ args, problem }) => {
    expect(() => parseArguments(args, ["name"])).toThrow(problem);
  });
});

it.for([
  { args: ["get", "--name", "x"], name: "dev", rest: ["get", "--name", "x"] },
  { args: ["--name", "x", "get"], name: "x", rest: ["get"] },
  { args: ["--name=x", "get"], name: "x", rest: ["get"] },
])("the lab's name is taken from the front only: $args", ({ args, name, rest }) => {
  expect(takeLabName(args)).toEqual({ name, rest });
});
