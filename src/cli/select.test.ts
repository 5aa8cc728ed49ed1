import { expect, it } from "vitest";
import { buildTopology } from "../topology/build-topology.ts";
import { cluster, mountpointPodName } from "../topology/cluster.fixture.ts";
import { volumesNamed } from "./select.ts";

const topology = buildTopology(cluster());

it.each([
  "data",
  "bucket",
  "handle",
  "shop/claim",
  "claim",
  "app",
  "shop/app",
  "uid-of-app",
  "s3pa-1",
  mountpointPodName,
])("finds the volume by %s", (name) => {
  expect(volumesNamed(topology, name).map((each) => each.name)).toEqual(["data"]);
});

it.each(["dat", "other/claim", "", "laim"])("does not find it by %j, and says where names are shown", (name) => {
  expect(() => volumesNamed(topology, name)).toThrow(/is no volume/);
});
