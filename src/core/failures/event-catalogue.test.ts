import { expect, expectTypeOf, it } from "vitest";
import { type EventReason, eventCatalogue, type ReasonOn } from "./event-catalogue.ts";

it("OP-4 every cause and fix is plain text, and the fix is a sentence", () => {
  for (const { cause, fix } of Object.values(eventCatalogue)) {
    expect(cause).not.toMatch(/[`|]|\]\(|\.$/);
    expect(fix).toMatch(/^[A-Z][^`|]*\.$/);
  }
});

it("OP-4 a reason that is not listed, or not for this object, does not compile", () => {
  expectTypeOf<"NeverHeardOf">().not.toExtend<EventReason>();
  expectTypeOf<"BucketKept">().toExtend<ReasonOn<"PersistentVolume">>();
  expectTypeOf<"BucketKept">().not.toExtend<ReasonOn<"Pod">>();
  expectTypeOf<"AttachmentRefused">().not.toExtend<ReasonOn<"PersistentVolumeClaim">>();
});
