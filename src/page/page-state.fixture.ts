/** States of clusters that do not exist. */
import type { AttachmentView, Health, MountpointPodView, VolumeView, WorkloadView } from "../topology/topology.ts";
import type { EventView, PageState } from "./page-state.ts";
import type { RatesByPod } from "./rates.ts";

export const fixtureTime = "2026-03-01T12:00:00Z";

export function emptyState(more: Partial<PageState> = {}): PageState {
  return { context: "lab", volumes: [], orphanedPods: [], unreadable: [], events: [], ...more };
}

export function workloadView(name: string, more: Partial<WorkloadView> = {}): WorkloadView {
  return { uid: `uid-${name}`, namespace: "shop", name, phase: "Running", attachedAt: fixtureTime, ...more };
}

export function mountpointPodView(name: string, more: Partial<MountpointPodView> = {}): MountpointPodView {
  return {
    ...{ name, namespace: "mount-s3", node: "worker-1", phase: "Running", mount: "serving", version: "3.0.0" },
    ...{ restarts: 0, heals: 0, lastDeath: undefined, ending: false, createdAt: fixtureTime, health: "ok" },
    ...{ problem: "", workloads: [workloadView(`app-of-${name}`)] },
    ...more,
  };
}

export function attachmentView(name: string, more: Partial<AttachmentView> = {}): AttachmentView {
  return {
    ...{ name, node: "worker-1", fsGroup: "", mountOptions: "", conditions: [], health: "ok" },
    mountpointPods: [mountpointPodView(`mp-${name}`)],
    ...more,
  };
}

export function volumeView(name: string, more: Partial<VolumeView> = {}): VolumeView {
  return {
    ...{
      name,
      claim: { namespace: "shop", name: `claim-${name}` },
      bucket: `bucket-${name}`,
      prefix: "",
      handle: name,
    },
    ...{ phase: "Bound", storageClass: "", provisioning: "static", accessModes: ["ReadWriteMany"], mountOptions: [] },
    ...{ identity: "driver", createdAt: fixtureTime, health: "ok", problems: [] },
    attachments: [attachmentView(`s3pa-${name}`)],
    ...more,
  };
}

export function eventView(uid: string, more: Partial<EventView> = {}): EventView {
  return {
    ...{ uid, time: fixtureTime, isWarning: false, reason: "Mounted", message: "The volume is mounted", count: 1 },
    ...{ kind: "Pod", namespace: "shop", name: "app", volumes: [] },
    ...more,
  };
}

/** Of the Mountpoint Pods of `largeState`. */
export function largeRates(count: number): RatesByPod {
  const pods = largeState(count).volumes.flatMap(({ attachments }) =>
    attachments.flatMap(({ mountpointPods }) => mountpointPods),
  );
  const rates = pods.map(({ name }, at) => [
    name,
    {
      readBytes: ((at * 7919) % 997) * 50_000,
      writtenBytes: ((at * 104_729) % 89) * 9000,
      requests: at % 41,
      errors: at % 23 === 0 ? 0.5 : 0,
    },
  ]);
  return Object.fromEntries(rates) as RatesByPod;
}

/** A mixed cluster: one volume in 25 has a problem, one in 40 waits, one in 10 is idle. */
export function largeState(count: number): PageState {
  const volumes = Array.from({ length: count }, (_, at) => largeVolume(at));
  const events = volumes
    .filter(({ health }) => health !== "idle")
    .map(({ name, health }, at) =>
      eventView(`event-${at}`, {
        ...(health === "problem" && { isWarning: true, reason: "FailedMount", message: "mount-s3: Access denied" }),
        name: `app-${name}`,
        volumes: [name],
      }),
    );
  return emptyState({ volumes, events });
}

function largeVolume(at: number): VolumeView {
  const name = `pvc-${String(at).padStart(5, "0")}`;
  const node = `worker-${at % 25}`;
  const health: Health = at % 25 === 3 ? "problem" : at % 40 === 5 ? "waiting" : at % 10 === 7 ? "idle" : "ok";
  const problem = health === "problem" ? "mount-s3: Access denied for bucket; check the credentials of the volume" : "";
  const pod = mountpointPodView(`mp-${name}`, {
    ...{ node, health, problem },
    mount: health === "ok" ? "serving" : "starting",
    workloads: Array.from({ length: (at % 3) + 1 }, (__, each) => workloadView(`app-${at}-${each}`)),
  });
  return volumeView(name, {
    health,
    problems: problem === "" ? [] : [`${node}: ${problem}`],
    attachments: health === "idle" ? [] : [attachmentView(`s3pa-${at}`, { node, health, mountpointPods: [pod] })],
  });
}
