import { describe, expect, it } from "vitest";
import { annotations } from "../../core/names.ts";
import { buildTopology } from "../../topology/build-topology.ts";
import { cluster, mountpointPodName } from "../../topology/cluster.fixture.ts";
import type { AttachmentObject, Pod } from "../../topology/objects.ts";
import { movableIn, stateOf } from "./plan-move.ts";

const topology = buildTopology(cluster());
const [node = ""] = topology.volumes.flatMap(({ attachments }) => attachments.map((each) => each.node));
const nothing = { name: undefined, node: undefined, all: false };

const pod = (notes: Readonly<Record<string, string>>) => ({ metadata: { annotations: notes } }) as unknown as Pod;

describe("what is moved", () => {
  it.for([
    ["a volume", { ...nothing, name: "data" }, [mountpointPodName]],
    ["a node", { ...nothing, node }, [mountpointPodName]],
    ["another node", { ...nothing, node: "elsewhere" }, []],
    ["everything", { ...nothing, all: true }, [mountpointPodName]],
  ] as const)("%s", ([, scope, pods]) => {
    expect(movableIn(topology, scope).map(({ mountpointPod }) => mountpointPod)).toEqual(pods);
  });

  it("must be named once", () => {
    expect(() => movableIn(topology, nothing)).toThrow("name one volume, --node or --all");
    expect(() => movableIn(topology, { name: "data", node, all: true })).toThrow("name one volume");
  });
});

describe("how far it is", () => {
  const [move] = movableIn(topology, { ...nothing, all: true });
  if (move === undefined) throw new Error("the fixture has a Mountpoint Pod with a workload");
  const attachment = (served: readonly object[] | undefined, status: object = {}) =>
    ({
      spec: { mountpointS3PodAttachments: served === undefined ? {} : { [move.mountpointPod]: served } },
      status: { mountpointPods: { [move.mountpointPod]: status } },
    }) as unknown as AttachmentObject;
  const asked = pod({ [annotations.move]: "1" });
  it.for([
    ["requested", asked, attachment([{}]), "waiting"],
    ["assigned to the successor, and not swapped yet", asked, attachment([], { inUse: true }), "waiting"],
    ["assigned, and not reported yet", asked, attachment([]), "waiting"],
    ["swapped", asked, attachment([], { inUse: false }), "moved"],
    ["no longer listed", asked, attachment(undefined), "moved"],
    ["gone", undefined, attachment(undefined), "moved"],
    ["with its attachment gone", asked, undefined, "moved"],
    ["failed", pod({ [annotations.move]: "1", [annotations.moveFailed]: "1" }), attachment([{}]), "failed"],
    ["failed before", pod({ [annotations.move]: "1", [annotations.moveFailed]: "0" }), attachment([{}]), "waiting"],
    ["taken back", pod({}), attachment([{}]), "takenBack"],
  ] as const)("%s", ([, now, listed, is]) => {
    expect(stateOf(move, "1", now, listed).is).toBe(is);
  });
});
