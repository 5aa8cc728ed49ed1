import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { call } from "../../../test/support/fake-node.ts";
import { openUnlessAborted } from "./open-unless-aborted.ts";

function resource() {
  const closed: string[] = [];
  return { closed, [Symbol.dispose]: () => void closed.push("closed") };
}

it("returns what was opened, and leaves it open", async () => {
  const opened = resource();
  expect(await openUnlessAborted(call, Promise.resolve(opened))).toBe(opened);
  expect(opened.closed).toEqual([]);
});

it("rejects with the error of a look-up that fails", async () => {
  await expect(openUnlessAborted(call, Promise.reject(new Error("ENOENT")))).rejects.toThrow("ENOENT");
});

/** Opens for a call that ends before the look-up does. */
async function openedTooLate(late: Promise<unknown>): Promise<void> {
  const end = new AbortController();
  const opening = Promise.withResolvers<unknown>();
  const opened = openUnlessAborted({ ...call, signal: end.signal }, opening.promise);
  end.abort(new Error("over"));
  await expect(opened).rejects.toThrow("over");
  opening.resolve(late);
  await setImmediate();
}

it("rejects when the call ends, and closes a resource that is opened after that", async () => {
  const late = resource();
  await openedTooLate(Promise.resolve(late));
  expect(late.closed).toEqual(["closed"]);
});

it.for([
  { what: "fails", late: () => Promise.reject(new Error("ENOENT")) },
  { what: "finds nothing", late: () => Promise.resolve(undefined) },
  { what: "returns null", late: () => Promise.resolve(null) },
  { what: "returns a reason", late: () => Promise.resolve("its process has ended") },
])("leaves no rejection without a handler when a look-up $what after the end of the call", async ({ late }) => {
  const unhandled: unknown[] = [];
  const listen = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", listen);
  await openedTooLate(late());
  process.off("unhandledRejection", listen);
  expect(unhandled).toEqual([]);
});
