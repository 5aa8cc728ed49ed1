import { expect, it } from "vitest";
import {
  integer,
  json,
  type Kind,
  names,
  namespacedName,
  oneOf,
  seconds,
  secret,
  text,
  toggle,
  trueOrFalse,
  url,
} from "./kinds.ts";
import { readSettings, type Settings } from "./settings.ts";

const declared = {
  name: { flag: "name", variable: "NAME", kind: text, required: "it is who we are" },
  colour: { flag: "colour", variable: "COLOUR", kind: oneOf("red", "green"), default: "red" },
  count: { flag: "count", kind: integer({ min: 1, max: 9 }) },
  loud: { flag: "loud", kind: toggle, default: false },
  token: { variable: "TOKEN", kind: secret },
} as const satisfies Settings;

const read = (args: readonly string[], env: Readonly<Record<string, string>> = { NAME: "n" }) =>
  readSettings(declared, { args, env });

it("has types that follow from the declaration", () => {
  const values = read([]);
  const typed: {
    readonly name: string;
    readonly colour: "red" | "green";
    readonly count: number | undefined;
    readonly loud: boolean;
  } = values;
  expect(typed).toEqual({ name: "n", colour: "red", count: undefined, loud: false, token: undefined });
});

it.for([
  { args: ["--name=f"], env: { NAME: "v" }, values: { name: "f" } },
  { args: [], env: { NAME: " v\n" }, values: { name: "v" } },
  { args: ["--name="], env: { NAME: "v" }, values: { name: "v" } },
  { args: ["--name", "f"], env: {}, values: { name: "f" } },
  { args: ["--name=a", "--name=b"], env: {}, values: { name: "b" } },
  { args: ["--name=a=b"], env: {}, values: { name: "a=b" } },
  { args: ["--loud"], env: { NAME: "v" }, values: { loud: true } },
  { args: ["--colour=green", "--count=9"], env: { NAME: "v", COLOUR: "" }, values: { colour: "green", count: 9 } },
])("$args with $env → $values", ({ args, env, values }) => {
  expect(read(args, env)).toMatchObject(values);
});

it.for([
  { args: ["--colour=blue"], mistake: '--colour must be red or green, but is "blue"' },
  { args: ["--count=0"], mistake: '--count must be an integer from 1 to 9, but is "0"' },
  { args: ["--count="], mistake: '--count must be an integer from 1 to 9, but is ""' },
  { args: ["--count"], mistake: "--count needs a value: write --count=VALUE" },
  { args: ["--count", "--loud"], mistake: "--count needs a value: write --count=VALUE" },
  { args: ["--loud=true"], mistake: "--loud takes no value: write --loud, or leave it out" },
  { args: ["--clour=red"], mistake: "unknown flag --clour: did you mean --colour?" },
  { args: ["-n"], mistake: "unknown flag -n: did you mean --name?" },
  { args: ["name"], mistake: 'unexpected argument "name"' },
])("refuses $args", ({ args, mistake }) => {
  expect(() => read(args)).toThrow(new Error(mistake));
});

it("names the variable that is wrong, and what is missing", () => {
  expect(() => read([], { COLOUR: "blue" })).toThrow(
    new Error(
      "--name or the NAME environment variable must be set: it is who we are; " +
        'COLOUR must be red or green, but is "blue"',
    ),
  );
});

it("does not call a flag without its value missing as well", () => {
  expect(() => read(["--name"], {})).toThrow(new Error("--name needs a value: write --name=VALUE"));
});

it("runs every check, also when a setting is mistaken", () => {
  const checks = [
    ({ colour }: { readonly colour: string }) => expect(colour).toBe("red"),
    () => {
      throw new Error("a and b do not go together");
    },
  ];
  expect(() => readSettings(declared, { args: ["--colour=blue"], env: { NAME: "n" } }, checks)).toThrow(
    new Error('--colour must be red or green, but is "blue"; a and b do not go together'),
  );
});

const kinds: readonly (readonly [string, Kind<unknown>, string, unknown])[] = [
  ["integer", integer({ min: 0 }), "0", 0],
  ["integer", integer({ min: 0 }), "-1", undefined],
  ["integer", integer({ min: 0 }), "1.5", undefined],
  ["integer", integer({ min: 0 }), "0x10", undefined],
  ["integer", integer({ min: 0 }), "9".repeat(30), undefined],
  ["seconds", seconds({ min: 1 }), "2", 2000],
  ["seconds", seconds({ min: 1 }), "0", undefined],
  ["trueOrFalse", trueOrFalse, "false", false],
  ["trueOrFalse", trueOrFalse, "no", undefined],
  ["url", url, "http://s3:8000", "http://s3:8000"],
  ["url", url, "s3", undefined],
  ["names", names, "one, two,", ["one", "two"]],
  ["namespacedName", namespacedName, "a/b", { namespace: "a", name: "b" }],
  ["namespacedName", namespacedName, "a/b/c", undefined],
  ["namespacedName", namespacedName, "a/", undefined],
  ["json", json("a number", (value) => (typeof value === "number" ? value : undefined)), "3", 3],
  ["json", json("a number", (value) => (typeof value === "number" ? value : undefined)), "{", undefined],
];

it.for(kinds)("%s: %o → %o", ([, kind, given, value]) => {
  expect(kind.parse(given)).toEqual(value);
});

it("SE-4 does not show what may be a password", () => {
  const settings = { proxy: { variable: "PROXY", kind: url } } as const satisfies Settings;
  expect(() => readSettings(settings, { args: [], env: { PROXY: "//user:hunter2@proxy" } })).toThrow(
    new Error("PROXY must be a URL such as https://s3.example.com"),
  );
  expect(JSON.stringify(read([], { NAME: "n", TOKEN: "hunter2" }))).not.toContain("hunter2");
});
