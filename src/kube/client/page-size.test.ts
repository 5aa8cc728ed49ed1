import { expect, it } from "vitest";
import { largestPage, nextPageSize, pageLimitBytes, smallerPageSize } from "./page-size.ts";

const kib = 1024;

it.for([
  { says: "small objects: the largest page", size: 500, objects: 500, bytes: 500 * 2 * kib, next: 500 },
  { says: "larger objects: half of the limit", size: 500, objects: 500, bytes: 500 * 8 * kib, next: 256 },
  { says: "huge objects", size: 8, objects: 8, bytes: 8 * 256 * kib, next: 8 },
  { says: "an object above the limit", size: 1, objects: 1, bytes: 2 * pageLimitBytes, next: 1 },
  { says: "small objects after huge ones: twice the page", size: 8, objects: 8, bytes: 8 * kib, next: 16 },
  { says: "an empty page", size: 8, objects: 0, bytes: 100, next: 8 },
])("SC-8 $says", ({ size, next, ...page }) => {
  expect(nextPageSize(size, page)).toBe(next);
});

it("SC-8 a page that is too large shrinks to a single object within three attempts", () => {
  const sizes = [largestPage];
  while (sizes.at(-1) !== 1) sizes.push(smallerPageSize(sizes.at(-1) ?? 1));
  expect(sizes).toEqual([500, 62, 7, 1]);
  expect(smallerPageSize(1)).toBe(1);
});
