import { expect, it } from "vitest";
import { livePrefix } from "../core/names.ts";
import { buildTopology } from "./build-topology.ts";
import { cluster, mountpointPod, volume } from "./cluster.fixture.ts";
import { liveDifference } from "./live-view.ts";
import type { MountpointPodView, VolumeView } from "./topology.ts";

type Annotations = Readonly<Record<string, string>>;

/** A volume, and the Mountpoint Pod that serves it. */
function viewsOf(wanted: Annotations, inUse: Annotations): readonly [VolumeView, MountpointPodView] {
  const withAnnotations = <Shape extends { readonly metadata: object }>(object: Shape, annotations: Annotations) => {
    const named = Object.entries(annotations).map(([name, value]) => [`${livePrefix}${name}`, value]);
    return { ...object, metadata: { ...object.metadata, annotations: Object.fromEntries(named) } };
  };
  const [data] = buildTopology(
    cluster({
      volumes: [withAnnotations(volume(), wanted)],
      mountpointPods: [withAnnotations(mountpointPod(), inUse)],
    }),
  ).volumes;
  const pod = data?.attachments[0]?.mountpointPods[0];
  if (data === undefined || pod === undefined) throw new Error("the cluster has a volume with a Mountpoint Pod");
  return [data, pod];
}

it("without live options there is nothing to show", () => {
  const [data, pod] = viewsOf({}, {});
  expect([data.live, pod.live, liveDifference(data, pod)]).toEqual([undefined, undefined, ""]);
});

it("shows what the volume wants, and what its Mountpoint Pod has instead", () => {
  const [data, pod] = viewsOf({ mountOptions: "metadata-ttl 60, debug", cache: "" }, { mountOptions: "--debug" });
  expect(data.live).toEqual({ wanted: ["--debug", "--metadata-ttl=60", "cache="], refused: [] });
  expect(pod.live).toEqual(["--debug"]);
  expect(liveDifference(data, pod)).toBe(
    "--debug, other than those of the volume until it is moved: kubectl s3 move data",
  );
});

it("a Mountpoint Pod with the options of its volume does not differ, in whatever order they are written", () => {
  const live = { "mountpointEnv.NO_PROXY": "a", cache: "" };
  const pod = { ...live, mountOptions: "--debug,--metadata-ttl=60" };
  expect(liveDifference(...viewsOf({ mountOptions: "metadata-ttl=60\ndebug", ...live }, pod))).toBe("");
});

it("one whose options were taken back differs until it is moved", () => {
  expect(liveDifference(...viewsOf({}, { mountOptions: "--debug" }))).toMatch(/^--debug, other than/);
  expect(liveDifference(...viewsOf({ mountOptions: "debug" }, {}))).toMatch(/^none, other than/);
});

it("shows what is refused, and no password of a proxy", () => {
  const proxy = { "mountpointEnv.HTTPS_PROXY": "http://user:word@proxy" };
  const [data] = viewsOf({ ...proxy, mountOptions: "prefix other/" }, {});
  expect(data.live?.wanted).toEqual(["mountpointEnv.HTTPS_PROXY=http://proxy"]);
  expect(data.live?.refused).toEqual([expect.stringContaining("--prefix cannot change")]);
  // It works as before.
  expect(data).toMatchObject({ health: "ok", problems: [] });
});
