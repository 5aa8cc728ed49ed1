import { describe, expect, it } from "vitest";
import { DriverError } from "../errors.ts";
import { effectiveResources, parseContainerResources } from "./container-resources.ts";

const prefix = "mountpointContainerResources";

describe("of a volume", () => {
  it("are read as they are written", () => {
    const raw = {
      mountpointContainerResourcesRequestsCpu: "100m",
      mountpointContainerResourcesRequestsMemory: "1Gi",
      mountpointContainerResourcesLimitsCpu: "2",
      mountpointContainerResourcesLimitsMemory: "1024Mi",
    };
    expect(parseContainerResources(raw)).toEqual({
      requests: { cpu: "100m", memory: "1Gi" },
      limits: { cpu: "2", memory: "1024Mi" },
    });
  });

  it("may be left out or empty", () => {
    expect(parseContainerResources({ [`${prefix}LimitsMemory`]: "" })).toEqual({ requests: {}, limits: {} });
  });

  it.for([
    [{ RequestsCpu: "much" }, `${prefix}RequestsCpu "much" is not an amount`],
    [{ LimitsMemory: "1GB" }, `${prefix}LimitsMemory "1GB" is not an amount`],
    [{ LimitsMemory: "-1Gi" }, `${prefix}LimitsMemory "-1Gi" is not an amount`],
    [{ LimitsMemory: "0" }, `${prefix}LimitsMemory "0" is not an amount`],
    [{ RequestsMemory: "1Gi", LimitsMemory: "1G" }, `${prefix}LimitsMemory "1G" is less than the request "1Gi"`],
    [{ RequestsCpu: "1", LimitsCpu: "999m" }, `${prefix}LimitsCpu "999m" is less than the request "1"`],
  ] as const)("%j is refused by name, with the fix", ([given, message]) => {
    const raw = Object.fromEntries(Object.entries(given).map(([name, value]) => [`${prefix}${name}`, value]));
    let refusal: unknown;
    try {
      parseContainerResources(raw);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(DriverError);
    expect(refusal).toMatchObject({ kind: "invalid", message: `volumeAttributes.${message}` });
    expect(refusal).toHaveProperty("hint", expect.stringMatching(/write one such as|raise the limit, or lower/));
  });
});

describe("in effect", () => {
  const none = { requests: {}, limits: {} };
  it.for([
    ["defaults", { requests: { cpu: "10m" }, limits: { memory: "1Gi" } }, none, {}],
    [
      "the volume first",
      { requests: { cpu: "10m" }, limits: {} },
      { requests: { cpu: "1" }, limits: {} },
      { cpu: "1" },
    ],
  ] as const)("%s", ([, defaults, volume, own]) => {
    expect(effectiveResources(defaults, volume)).toEqual({ ...defaults, requests: { ...defaults.requests, ...own } });
  });

  it("a default request gives way to a smaller limit of the volume", () => {
    const defaults = { requests: { cpu: "10m", memory: "2Gi" }, limits: {} };
    expect(effectiveResources(defaults, { requests: {}, limits: { memory: "1Gi" } })).toEqual({
      requests: { cpu: "10m", memory: "1Gi" },
      limits: { memory: "1Gi" },
    });
  });

  it("a default limit gives way to a larger request of the volume", () => {
    const defaults = { requests: { memory: "32Mi" }, limits: { memory: "1Gi", cpu: "1" } };
    expect(effectiveResources(defaults, { requests: { memory: "2Gi" }, limits: {} })).toEqual({
      requests: { memory: "2Gi" },
      limits: { memory: "2Gi", cpu: "1" },
    });
  });
});
