import { expect, it } from "vitest";
import { buildTopology } from "../../topology/build-topology.ts";
import { cluster, metadata, volume } from "../../topology/cluster.fixture.ts";
import type { Cluster } from "../../topology/cluster.ts";
import { benchClaim } from "./bench-claim.ts";

function claimIn(but: Partial<Cluster>) {
  const { claims, ...rest } = cluster(but);
  const [view] = buildTopology({ ...rest, claims }).volumes;
  if (view === undefined) throw new Error("no volume");
  return benchClaim(view, claims);
}

/** A claim with the name in `claimRef` of the volume. */
const claims = (volumeName?: string) => [
  { metadata: metadata("claim", "shop"), spec: volumeName === undefined ? {} : { volumeName } },
];

it("OP-5 bench uses the claim that is bound to the volume", () => {
  expect(claimIn({})).toEqual({ namespace: "shop", name: "claim" });
});

it("OP-5 bench of a Released volume does not use a new claim with the old name", () => {
  const volumes = [{ ...volume(), status: { phase: "Released" } }];
  expect(() => claimIn({ volumes, claims: claims("other") })).toThrow(
    "claim shop/claim is bound to other, not to volume data",
  );
  expect(() => claimIn({ volumes, claims: claims() })).toThrow("is bound to no volume, not to volume data");
  expect(() => claimIn({ volumes, claims: [] })).toThrow("claim shop/claim of volume data does not exist");
});

it("OP-4 bench refuses a second Pod on a volume for one Pod", () => {
  const volumes = [volume({ accessModes: ["ReadWriteOncePod"] })];
  expect(() => claimIn({ volumes })).toThrow("ReadWriteOncePod");
});
