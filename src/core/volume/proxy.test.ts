import { expect, it } from "vitest";
import { parseProxy, shownProxy } from "./proxy.ts";

it("takes the three variables of a proxy, and leaves other attributes alone", () => {
  const raw = {
    bucketName: "data",
    "mountpointEnv.HTTPS_PROXY": "http://proxy:3128",
    "mountpointEnv.HTTP_PROXY": "",
    "mountpointEnv.NO_PROXY": "10.0.0.0/8,.svc",
  };
  expect(parseProxy(raw)).toEqual({ HTTPS_PROXY: "http://proxy:3128", HTTP_PROXY: "", NO_PROXY: "10.0.0.0/8,.svc" });
});

it.for(["LD_PRELOAD", "AWS_PROFILE", "https_proxy", "", "HTTPS_PROXY "])("refuses %j by name", (variable) => {
  const attribute = `mountpointEnv.${variable}`;
  expect(() => parseProxy({ [attribute]: "x" })).toThrow(`volumeAttributes.${attribute} cannot be set for a volume`);
});

it("refuses what does not fit into a variable", () => {
  expect(() => parseProxy({ "mountpointEnv.NO_PROXY": "a\0b" })).toThrow("mountpointEnv.NO_PROXY");
});

it.for([
  ["http://user:word@proxy:3128", "http://proxy:3128"],
  ["user:w@rd@proxy:3128", "proxy:3128"],
  ["http://user:w/rd@proxy:3128", "http://proxy:3128"],
  ["a,b", "a,b"],
  ["", ""],
] as const)("shows %j as %j", ([value, expected]) => {
  expect(shownProxy(value)).toBe(expected);
});
