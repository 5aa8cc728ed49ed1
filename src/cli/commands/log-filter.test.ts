import { expect, it } from "vitest";
import { buildTopology } from "../../topology/build-topology.ts";
import { cluster, mountpointPodName } from "../../topology/cluster.fixture.ts";
import { linesOfMount, mountNamed } from "./log-filter.ts";

const { volumes } = buildTopology(cluster());
const other = `mp-${"1".repeat(56)}`;

function isShown(line: object | string): boolean {
  const mount = mountNamed(volumes, mountpointPodName);
  if (mount === undefined) throw new Error("the fixture has this Mountpoint Pod");
  return linesOfMount(mount.volume, mount.pod)(typeof line === "string" ? line : JSON.stringify(line));
}

it("OP-5 one id, the name of the Mountpoint Pod, finds the lines of a mount in the logs of all parties", () => {
  expect(isShown({ message: "reconcile step", step: "createMountpointPod", mountpointPod: mountpointPodName })).toBe(
    true,
  );
  expect(isShown({ message: "healed", mountpointPod: [other, mountpointPodName] })).toBe(true);
  expect(isShown({ message: "healed", mountpointPod: other, volume: "data" })).toBe(false);
  expect(isShown(`I0115 attacher.go] mount for ${mountpointPodName}`)).toBe(true);
});

it("lines about the volume as a whole belong to each of its mounts, those about other volumes to none", () => {
  expect(isShown({ message: "publish", volume: "data" })).toBe(true);
  expect(isShown({ message: "created the bucket of a volume", volumeId: "handle" })).toBe(true);
  expect(isShown({ message: "publish", volume: "database" })).toBe(false);
  expect(isShown("leaderelection.go] renewed")).toBe(false);
});

it("a name that is not that of a Mountpoint Pod means the whole volume", () => {
  expect(mountNamed(volumes, "data")).toBeUndefined();
});
