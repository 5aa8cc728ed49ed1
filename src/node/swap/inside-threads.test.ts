import { openSync } from "node:fs";
import { expect, it, vi } from "vitest";
import { call } from "../../../test/support/fake-node.ts";
import { Descriptor } from "../../linux/descriptor.ts";
import { describeError } from "../../runtime/log.ts";
import { InsideThreads, type Limited, type Replacement } from "./inside-threads.ts";

function replacementAt(path: string): Replacement & { readonly areOpen: () => boolean } {
  const [namespace, root, table] = [1, 2, 3].map(() => new Descriptor(openSync("/dev/null", "r"))) as [
    Descriptor,
    Descriptor,
    Descriptor,
  ];
  const all = [namespace, root, table];
  const close = () => {
    for (const one of all) one[Symbol.dispose]();
  };
  const areOpen = () => all.every(isOpen);
  const inside = { namespace, root, table, [Symbol.dispose]: close };
  return {
    namespaceId: "mnt:[1]",
    mountId: path.length,
    path,
    isExpected: async () => true,
    inside,
    copy: nothing,
    areOpen,
  };
}

function nothing(): Promise<never> {
  return Promise.reject(new Error("nothing is copied here"));
}

function isOpen(descriptor: Descriptor): boolean {
  try {
    return descriptor.fd >= 0;
  } catch {
    return false; // a closed Descriptor throws
  }
}

/** Threads that end when the test says so, by path. */
function threads(limitMs: number) {
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const started: string[] = [];
  const replace = async (_call: unknown, { path }: Replacement, limited: Limited) => {
    started.push(path);
    const end = Promise.withResolvers<void>();
    ends.set(path, end);
    await limited(() => end.promise);
  };
  return { ends, started, threads: new InsideThreads(replace, limitMs) };
}

it("closes the descriptors of a thread when it ends, also after a failure", async () => {
  const { ends, threads: inside } = threads(60_000);
  const [good, bad] = [replacementAt("/good"), replacementAt("/bad")];
  const done = [inside.replace(call, good), inside.replace(call, bad)] as const;
  expect([good.areOpen(), bad.areOpen()]).toEqual([true, true]);
  ends.get("/good")?.resolve();
  ends.get("/bad")?.reject(new Error("EINVAL"));
  await done[0];
  await expect(done[1]).rejects.toThrow("EINVAL");
  expect([good.areOpen(), bad.areOpen()]).toEqual([false, false]);
});

it("abandons a hung thread, keeps its descriptors open, and starts no second one until it has ended", async () => {
  const { ends, started, threads: inside } = threads(1);
  const first = replacementAt("/data/inner");
  const complaint = await inside.replace(call, first).catch(describeError);
  expect(complaint).toContain("another mount on it may hang");
  expect(first.areOpen()).toBe(true);
  const second = replacementAt("/data/inner");
  await expect(inside.replace(call, second)).rejects.toThrow("another mount on it may hang");
  expect(second.areOpen()).toBe(false);
  expect(started).toEqual(["/data/inner"]);

  ends.get("/data/inner")?.reject(new Error("the server has died"));
  await expect.poll(first.areOpen).toBe(false);
  await inside.replace(call, replacementAt("/data/inner")).catch(() => undefined);
  expect(started).toEqual(["/data/inner", "/data/inner"]);
});

it("LC-17 stops waiting for a look-up when the call ends, and leaves no timer that keeps the program alive", async () => {
  vi.useFakeTimers();
  try {
    const { ends, threads: inside } = threads(60_000);
    const one = replacementAt("/data/inner");
    const end = new AbortController();
    const done = inside.replace({ ...call, signal: end.signal }, one);
    end.abort(new Error("the program ends"));
    await expect(done).rejects.toThrow("the program ends");
    expect([vi.getTimerCount(), one.areOpen()]).toEqual([0, true]);
    ends.get("/data/inner")?.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(one.areOpen()).toBe(false);
  } finally {
    vi.useRealTimers();
  }
});

it("starts no thread for a call that has ended", async () => {
  const { started, threads: inside } = threads(60_000);
  const one = replacementAt("/data");
  const over = { ...call, signal: AbortSignal.abort(new Error("over")) };
  await expect(inside.replace(over, one)).rejects.toThrow("over");
  expect([started, one.areOpen()]).toEqual([[], false]);
});

it("waits for a copy beyond the limit of a thread, and replaces nothing for a call that ended meanwhile", async () => {
  const copied = Promise.withResolvers<void>();
  const replaced: string[] = [];
  const inside = new InsideThreads(async (until, { path }, limited) => {
    await limited(async () => undefined);
    await copied.promise;
    until.signal.throwIfAborted();
    replaced.push(path);
  }, 1);
  const patience = new AbortController();
  const first = inside.replace({ ...call, signal: patience.signal }, replacementAt("/data"));
  const second = inside.replace(call, replacementAt("/other"));
  patience.abort(new Error("over"));
  await expect(first).rejects.toThrow("over");
  copied.resolve();
  await second;
  expect(replaced).toEqual(["/other"]);
});
