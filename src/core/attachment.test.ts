import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Assignment,
  type AttachmentSpec,
  assignWorkload,
  attachmentName,
  dropMountpointPod,
  findAttachments,
  holderOf,
  idleMountpointPods,
  newAttachment,
  releaseWorkload,
  restoreAccount,
  type SharingKey,
  sharingKey,
  specPatch,
} from "./attachment.ts";
import type { NodeName, PodName, PodUid, PvName, VolumeId } from "./names.ts";

const mpA = "mp-a" as PodName;
const mpB = "mp-b" as PodName;
const w1 = "uid-1" as PodUid;
const w2 = "uid-2" as PodUid;
const at = new Date("2026-01-15T10:30:00.789Z");

const key: SharingKey = {
  node: "worker-1" as NodeName,
  persistentVolume: "team-a-data" as PvName,
  volumeId: "handle" as VolumeId,
  mountOptions: "allow-delete,prefix=app/",
  fsGroup: "1000",
};

function spec(lists: Readonly<Record<string, readonly PodUid[]>>): AttachmentSpec {
  const served = Object.entries(lists).map(([pod, workloads]) => [
    pod,
    workloads.map((workloadPodUID) => ({ workloadPodUID, attachmentTime: "2026-01-15T10:00:00Z" })),
  ]);
  return {
    nodeName: key.node,
    persistentVolumeName: key.persistentVolume,
    volumeID: key.volumeId,
    mountOptions: key.mountOptions,
    workloadFSGroup: key.fsGroup,
    mountpointS3PodAttachments: Object.fromEntries(served),
  };
}

function uids(from: AttachmentSpec): Record<string, string[]> {
  const lists = Object.entries(from.mountpointS3PodAttachments);
  return Object.fromEntries(lists.map(([pod, served]) => [pod, served.map((entry) => entry.workloadPodUID)]));
}

describe("the name", () => {
  it("is a valid object name that follows from the key alone", () => {
    expect(attachmentName(key)).toMatch(/^s3pa-[0-9a-f]{32}$/);
    expect(attachmentName({ ...key })).toBe(attachmentName(key));
  });

  it.for(["node", "persistentVolume", "volumeId", "mountOptions", "fsGroup"] as const)("changes with %s", (field) => {
    expect(attachmentName({ ...key, [field]: "other" })).not.toBe(attachmentName(key));
  });

  it("does not confuse neighbouring fields", () => {
    const shifted = { ...key, mountOptions: `${key.mountOptions}1`, fsGroup: key.fsGroup.slice(1) };
    expect(attachmentName(shifted)).not.toBe(attachmentName(key));
  });
});

it("joins the volume's options by commas in the key, as 2.x does", () => {
  const volume = { name: key.persistentVolume, volumeId: key.volumeId, mountOptions: ["allow-delete", "prefix=app/"] };
  expect(sharingKey({ node: key.node, fsGroup: "1000" }, volume)).toEqual(key);
});

it("makes the object that the custom resource definition asks for", () => {
  const made = { driverVersion: "3.0.0", authenticationSource: "driver" };
  expect(newAttachment(key, made, { mountpointPod: mpA, workload: w1, at })).toEqual({
    apiVersion: "s3.csi.scality.com/v2",
    kind: "MountpointS3PodAttachment",
    metadata: {
      name: attachmentName(key),
      labels: { "s3.csi.scality.com/mounted-by-csi-driver-version": "3.0.0" },
    },
    spec: {
      nodeName: "worker-1",
      persistentVolumeName: "team-a-data",
      volumeID: "handle",
      mountOptions: "allow-delete,prefix=app/",
      workloadFSGroup: "1000",
      authenticationSource: "driver",
      mountpointS3PodAttachments: { "mp-a": [{ workloadPodUID: "uid-1", attachmentTime: "2026-01-15T10:30:00Z" }] },
    },
  });
});

describe("finding by fields", () => {
  const of2x = { metadata: { name: "s3pa-7k2xq", creationTimestamp: "2026-01-02T00:00:00Z" }, spec: spec({}) };

  it("finds what 2.x named at random and left without the optional fields", () => {
    expect(findAttachments([of2x], key)).toEqual([of2x]);
  });

  it.for(["nodeName", "persistentVolumeName", "volumeID", "mountOptions", "workloadFSGroup"] as const)(
    "passes over another %s",
    (field) => {
      expect(findAttachments([{ ...of2x, spec: { ...of2x.spec, [field]: "other" } }], key)).toEqual([]);
    },
  );

  it("puts the oldest of several first, and lets the name decide among twins", () => {
    const older = { ...of2x, metadata: { name: "s3pa-zzz", creationTimestamp: "2026-01-01T00:00:00Z" } };
    const twin = { ...of2x, metadata: { ...of2x.metadata, name: "s3pa-aaa" } };
    for (const order of [
      [of2x, older, twin],
      [twin, of2x, older],
    ]) {
      expect(findAttachments(order, key)).toEqual([older, of2x, twin]);
    }
  });
});

describe("assigning", () => {
  it("adds the workload with the time in whole seconds", () => {
    const before = spec({ [mpA]: [w1] });
    const after = assignWorkload(before, { mountpointPod: mpA, workload: w2, at });
    expect(after.mountpointS3PodAttachments[mpA]).toEqual([
      { workloadPodUID: w1, attachmentTime: "2026-01-15T10:00:00Z" },
      { workloadPodUID: w2, attachmentTime: "2026-01-15T10:30:00Z" },
    ]);
    expect(uids(before)).toEqual({ [mpA]: [w1] });
  });

  it("opens a list for a new Mountpoint Pod", () => {
    const after = assignWorkload(spec({ [mpA]: [w1] }), { mountpointPod: mpB, workload: w2, at });
    expect(uids(after)).toEqual({ [mpA]: [w1], [mpB]: [w2] });
  });

  it("changes nothing the second time, not even the time", () => {
    const before = spec({ [mpA]: [w1] });
    expect(assignWorkload(before, { mountpointPod: mpA, workload: w1, at })).toBe(before);
  });

  it("moves a workload and remembers the Mountpoint Pod it left", () => {
    const after = assignWorkload(spec({ [mpA]: [w1] }), { mountpointPod: mpB, workload: w1, at });
    expect(uids(after)).toEqual({ [mpA]: [], [mpB]: [w1] });
  });

  it("keeps the optional fields that are there", () => {
    const before = { ...spec({}), authenticationSource: "secret" };
    const after = assignWorkload(before, { mountpointPod: mpA, workload: w1, at });
    expect(after.authenticationSource).toBe("secret");
  });
});

describe("releasing", () => {
  it("leaves the empty list, which still has to be unmounted", () => {
    const after = releaseWorkload(spec({ [mpA]: [w1], [mpB]: [w2] }), w1);
    expect(uids(after)).toEqual({ [mpA]: [], [mpB]: [w2] });
    expect(idleMountpointPods(after)).toEqual([mpA]);
  });

  it("changes nothing for a stranger", () => {
    const before = spec({ [mpA]: [w1] });
    expect(releaseWorkload(before, w2)).toBe(before);
  });

  it("drops a Mountpoint Pod that serves nobody", () => {
    expect(uids(dropMountpointPod(spec({ [mpA]: [], [mpB]: [w2] }), mpA))).toEqual({ [mpB]: [w2] });
  });

  it("never drops one that serves a workload", () => {
    const before = spec({ [mpA]: [w1] });
    expect(dropMountpointPod(before, mpA)).toBe(before);
  });
});

it("patches a dropped Mountpoint Pod away by name, because a merge patch keeps what it does not mention", () => {
  const before = spec({ [mpA]: [], [mpB]: [w1] });
  const after = dropMountpointPod(releaseWorkload(before, w1), mpA);
  expect(specPatch(before, after)).toEqual({ mountpointS3PodAttachments: { [mpA]: null, [mpB]: [] } });
});

describe("ID-1 an attachment that has lost its account", () => {
  const account = { namespace: "shop", name: "a" };
  const name = attachmentName({ ...key, account });
  const fields = { authenticationSource: "pod", workloadNamespace: "shop", workloadServiceAccountName: "a" };
  const lost = (but: Partial<AttachmentSpec> = {}) => ({
    metadata: { name },
    spec: { ...spec({ [mpA]: [w1] }), ...but },
  });

  it("gets the one back that its name proves", () => {
    const others = [
      { namespace: "shop", name: "b" },
      { namespace: "other", name: "a" },
    ];
    expect(restoreAccount(lost(), [...others, account])).toEqual({ ...lost().spec, ...fields });
  });

  it.for([
    ["none of the accounts fits", lost(), [{ namespace: "other", name: "a" }]],
    ["it has lost none", lost({ workloadNamespace: "shop", workloadServiceAccountName: "b" }), [account]],
    ["its credentials are those of no account", lost({ authenticationSource: "driver" }), [account]],
    ["2.x made it", { ...lost(), metadata: { name: "s3pa-7k2xq" } }, [account]],
  ] as const)("stays as it is where %s", ([, attachment, accounts]) => {
    expect(restoreAccount(attachment, accounts)).toBe(attachment.spec);
  });

  it("has it written by the patch, which writes none that is there", () => {
    const before = lost().spec;
    const after = restoreAccount(lost(), [account]);
    expect(specPatch(before, after)).toMatchObject(fields);
    expect(Object.keys(specPatch(after, after))).toEqual(["mountpointS3PodAttachments"]);
    expect(Object.keys(specPatch(before, before))).toEqual(["mountpointS3PodAttachments"]);
  });
});

/** A uid leaves, an assignment comes. */
function perform(from: AttachmentSpec, next: Assignment | PodUid): AttachmentSpec {
  return typeof next === "string" ? releaseWorkload(from, next) : assignWorkload(from, next);
}

describe("after any history", () => {
  const uid = fc.constantFrom(w1, w2, "uid-3" as PodUid);
  const step = fc.oneof(
    fc.record({ mountpointPod: fc.constantFrom(mpA, mpB), workload: uid, at: fc.constant(at) }),
    uid,
  );
  it("a workload is in at most one list, once, and it is the one that was assigned last", () => {
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const end = steps.reduce(perform, spec({}));
        for (const workload of [w1, w2]) {
          const last = steps.findLast((next) => (typeof next === "string" ? next : next.workload) === workload);
          const holder = typeof last === "object" ? last.mountpointPod : undefined;
          expect(holderOf(end, workload)).toBe(holder);
          const times = Object.values(uids(end))
            .flat()
            .filter((held) => held === workload).length;
          expect(times).toBe(holder === undefined ? 0 : 1);
        }
      }),
    );
  });

  it("releasing everyone in any order and dropping the idle leaves an empty map", () => {
    fc.assert(
      fc.property(
        fc.array(step),
        fc.shuffledSubarray([w1, w2, "uid-3" as PodUid], { minLength: 3 }),
        (steps, leaving) => {
          const busy = steps.reduce(perform, spec({}));
          const released = leaving.reduce(releaseWorkload, busy);
          const end = idleMountpointPods(released).reduce(dropMountpointPod, released);
          expect(end.mountpointS3PodAttachments).toEqual({});
        },
      ),
    );
  });
});
