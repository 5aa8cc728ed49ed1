import { describe, expect, it } from "vitest";
import {
  type AttachmentStatus,
  conditionSince,
  controllerPart,
  isSameStatus,
  nodePart,
  sourcesIn,
} from "./attachment-status.ts";

const then = "2026-01-15T10:00:00Z";
const now = new Date("2026-01-15T12:00:00.678Z");
const condition = { type: "Assigned", status: "True", reason: "Assigned", message: "m" } as const;
const mounted = { type: "Mounted", status: "True", reason: "Mounted", message: "m", lastTransitionTime: then } as const;

describe("a condition", () => {
  it("that is new began now, in whole seconds", () => {
    expect(conditionSince(undefined, now, condition)).toEqual({
      ...condition,
      lastTransitionTime: "2026-01-15T12:00:00Z",
    });
  });

  it.for([
    { change: "its message", but: { message: "other", reason: "Other" }, since: then },
    { change: "its status", but: { status: "False" } as const, since: "2026-01-15T12:00:00Z" },
  ])("that changes $change began at $since", ({ but, since }) => {
    const before = { conditions: [{ ...mounted, ...condition, lastTransitionTime: then }] };
    expect(conditionSince(before, now, { ...condition, ...but })).toEqual({
      ...condition,
      ...but,
      lastTransitionTime: since,
    });
  });

  it("has a message of bounded length", () => {
    expect(conditionSince(undefined, now, { ...condition, message: "x".repeat(9999) }).message).toHaveLength(1024);
  });
});

describe("a status", () => {
  const assigned = { ...condition, lastTransitionTime: then };
  const [a, b] = [{ phase: "Running", restarts: 0, health: "serving", heals: 2 }, { health: "serving" }] as const;
  const status: AttachmentStatus = { conditions: [mounted, assigned], mountpointPods: { a, b } };

  it("has a part of each writer", () => {
    expect(controllerPart(status)).toEqual({
      conditions: [assigned],
      mountpointPods: { a: { phase: "Running", restarts: 0 } },
    });
    expect(nodePart(status)).toEqual({
      conditions: [mounted],
      mountpointPods: { a: { health: "serving", heals: 2 }, b: { health: "serving" } },
    });
    expect(controllerPart(undefined)).toEqual({ conditions: [], mountpointPods: {} });
  });

  it("has the sources that the node reports on, and whether they are in use", () => {
    const unmounting = { health: "absent", inUse: false } as const;
    const used = { health: "serving", inUse: true } as const;
    const mountpointPods = { ...status.mountpointPods, c: used, d: unmounting, e: { phase: "Running" } as const };
    expect(sourcesIn({ mountpointPods })).toEqual({
      a: { health: "serving" },
      b: { health: "serving" },
      c: used,
      d: unmounting,
    });
    expect(nodePart({ mountpointPods }).mountpointPods).toMatchObject({ c: used, d: unmounting });
    expect(sourcesIn(undefined)).toEqual({});
  });

  it.for<{ other: string; than: AttachmentStatus; same: boolean }>([
    { other: "order", than: { ...status, conditions: [assigned, mounted] }, same: true },
    { other: "time", than: { ...status, conditions: [mounted, { ...assigned, lastTransitionTime: "" }] }, same: false },
    { other: "field", than: { ...status, mountpointPods: { a: { phase: "Failed" } } }, same: false },
    { other: "order of Mountpoint Pods", than: { ...status, mountpointPods: { b, a } }, same: true },
    { other: "phase", than: { ...status, mountpointPods: { a: { ...a, phase: "Failed" }, b } }, same: false },
    { other: "Mountpoint Pod", than: { ...status, mountpointPods: { a, b, c: {} } }, same: false },
    { other: "Mountpoint Pod instead of one", than: { ...status, mountpointPods: { a, c: b } }, same: false },
    { other: "number of conditions", than: { ...status, conditions: [mounted] }, same: false },
    { other: "condition", than: { ...status, conditions: [mounted, mounted] }, same: false },
    { other: "absence", than: {}, same: false },
  ])("with another $other is the same: $same", ({ than, same }) => {
    expect(isSameStatus(status, than)).toBe(same);
  });
});
