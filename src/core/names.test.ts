import { expect, it } from "vitest";
import { mountpointPodName, type PodUid, type PvName } from "./names.ts";

const uid = "a4509011-bd2a-4f37-b1b0-05d715087852" as PodUid;
const pv = "test-vol" as PvName;

it("names a Mountpoint Pod as 2.x does", () => {
  expect(mountpointPodName(uid, pv)).toBe("mp-55f7d2331f3149f00d62d7af839d4cee895e1c68a2f0d96ffd359f79");
});

it("gives every successor another name that fits a label value", () => {
  const names = [0, 1, 2].map((generation) => mountpointPodName(uid, pv, generation));
  expect(new Set(names).size).toBe(3);
  for (const name of names) expect(name.length).toBeLessThanOrEqual(63);
});
