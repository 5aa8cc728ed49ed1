import { describe, expect, it } from "vitest";
import { annotations } from "../core/names.ts";
import { buildTopology } from "./build-topology.ts";
import {
  attachment,
  cluster,
  metadata,
  mountpointPod,
  mountpointPodName,
  volume,
  waitingPod,
  waitingPodName,
} from "./cluster.fixture.ts";

describe("the topology", () => {
  it("leads from a volume to the workloads that use it", () => {
    const [data] = buildTopology(cluster()).volumes;
    expect(data).toMatchObject({
      name: "data",
      claim: { namespace: "shop", name: "claim" },
      bucket: "bucket",
      health: "ok",
      problems: [],
      attachments: [
        {
          node: "worker-1",
          mountpointPods: [
            {
              name: mountpointPodName,
              mount: "serving",
              workloads: [{ namespace: "shop", name: "app", phase: "Running" }],
            },
          ],
        },
      ],
    });
  });

  it("shows a volume that no Pod uses as idle", () => {
    const { volumes } = buildTopology(cluster({ attachments: [], mountpointPods: [] }));
    expect(volumes[0]).toMatchObject({ health: "idle", attachments: [] });
  });

  it.each([
    ["dead", /mount-s3 has ended/],
    ["hung", /does not answer/],
    ["stuck", /lost its mount/],
  ] as const)("shows a mount that is %s as a problem", (health, text) => {
    const status = { mountpointPods: { [mountpointPodName]: { health } } };
    const [data] = buildTopology(cluster({ attachments: [attachment({ status })] })).volumes;
    expect(data?.health).toBe("problem");
    expect(data?.problems[0]).toMatch(text);
  });

  it("shows a Mountpoint Pod that starts as waiting, and one that is missing as a problem", () => {
    const status = { mountpointPods: { [mountpointPodName]: { health: "starting" as const } } };
    expect(buildTopology(cluster({ attachments: [attachment({ status })] })).volumes[0]?.health).toBe("waiting");
    const [missing] = buildTopology(cluster({ mountpointPods: [] })).volumes;
    expect(missing?.attachments[0]?.mountpointPods[0]).toMatchObject({ phase: "Missing", health: "problem" });
  });

  it("takes the phase of the Pod where the node plugin does not report, as in 2.x", () => {
    const { status: _, ...unreported } = attachment();
    expect(buildTopology(cluster({ attachments: [unreported] })).volumes[0]?.health).toBe("ok");
  });

  it("names why a container waits", () => {
    const waiting = { reason: "ImagePullBackOff", message: "no such image" };
    const status = {
      phase: "Pending",
      containerStatuses: [{ name: "mountpoint", ready: false, restartCount: 0, state: { waiting } }],
    };
    const [data] = buildTopology(cluster({ mountpointPods: [mountpointPod({ status })] })).volumes;
    expect(data?.problems[0]).toMatch(/ImagePullBackOff.*no such image/);
  });

  it("refuses what the driver refuses, in the driver's words", () => {
    const csi = { driver: "s3.csi.scality.com", volumeHandle: "handle", volumeAttributes: {} };
    const [data] = buildTopology(cluster({ volumes: [volume({ csi })] })).volumes;
    expect(data?.problems[0]).toMatch(/bucketName/);
  });

  it("lists Mountpoint Pods that no attachment lists, and no foreign Pods of that namespace", () => {
    const foreign = { ...mountpointPod(), metadata: metadata("job", "mount-s3") };
    const { orphanedPods } = buildTopology(cluster({ attachments: [], mountpointPods: [mountpointPod(), foreign] }));
    expect(orphanedPods.map(({ name }) => name)).toEqual([mountpointPodName]);
  });

  it("WM-1 shows Mountpoint Pods that wait for a volume by themselves, and none of them as orphaned", () => {
    const { waitingPods, orphanedPods, volumes } = buildTopology(
      cluster({ mountpointPods: [mountpointPod(), waitingPod()] }),
    );
    expect(waitingPods).toMatchObject([{ name: waitingPodName, node: "worker-1", phase: "Running", problem: "" }]);
    expect([orphanedPods, volumes[0]?.health]).toEqual([[], "ok"]);
  });

  it("WM-1 shows one that an attachment lists at its volume, also before its labels say so", () => {
    const { spec } = attachment();
    const lists = { [waitingPodName]: Object.values(spec.mountpointS3PodAttachments).flat() };
    const listing = attachment({ spec: { ...spec, mountpointS3PodAttachments: lists } });
    const { waitingPods, volumes } = buildTopology(cluster({ attachments: [listing], mountpointPods: [waitingPod()] }));
    expect(waitingPods).toEqual([]);
    expect(volumes[0]?.attachments[0]?.mountpointPods).toMatchObject([{ name: waitingPodName, phase: "Running" }]);
  });

  it("says that a Mountpoint Pod is being unmounted", () => {
    const { metadata: before } = mountpointPod();
    const pod = mountpointPod({ metadata: { ...before, annotations: { [annotations.needsUnmount]: "true" } } });
    const { volumes } = buildTopology(cluster({ mountpointPods: [pod] }));
    expect(volumes[0]?.attachments[0]?.mountpointPods[0]?.ending).toBe(true);
  });

  it.each(["prefix=a/b/", "prefix a/b/", "--prefix=a/b/", "--prefix a/b/"])("reads the prefix of %s", (option) => {
    const { volumes } = buildTopology(cluster({ volumes: [volume({ mountOptions: [option] })] }));
    expect(volumes[0]?.prefix).toBe("a/b/");
  });

  it("keeps apart workloads that are gone", () => {
    const { volumes } = buildTopology(cluster({ workloads: [] }));
    expect(volumes[0]?.attachments[0]?.mountpointPods[0]?.workloads).toMatchObject([
      { uid: "uid-of-app", name: undefined, phase: "Unknown" },
    ]);
  });
});
