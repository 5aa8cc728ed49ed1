/** Checks of attachments, Mountpoint Pods and workloads. */

import { annotations } from "../../../core/names.ts";
import type { Finding } from "../finding.ts";
import type { FindingId } from "../finding-ids.ts";
import type { Installation } from "../installation.ts";
import { sharedKey } from "../shared-key.ts";

/** Contract 1.6: after a workload has ended, up to four minutes may pass until everything is gone. */
const cleanupMs = 240_000;
/** Longer than the limit after which the reconciler deletes a Mountpoint Pod that does not end. */
const unmountMs = 15 * 60_000;
/** A scheduled Pod gets its Mountpoint Pod within a second or two. */
const assignMs = 60_000;

export function checkDuplicates({ cluster }: Installation): readonly Finding[] {
  const seen = new Map<string, string>();
  return cluster.attachments.flatMap(({ metadata, spec }) => {
    const key = sharedKey(spec);
    const former = seen.get(key);
    seen.set(key, metadata.name);
    if (former === undefined) return [];
    return [
      {
        id: "attachments-duplicate",
        severity: "warning" as const,
        summary: `Attachments ${former} and ${metadata.name} are for the same volume, node and options`,
        evidence: `volume ${spec.persistentVolumeName} on node ${spec.nodeName}`,
        fix: "the reconciler merges them: kubectl logs deploy/s3-csi-controller -c s3-pod-reconciler says why it does not",
      },
    ];
  });
}

export function checkStaleAttachments({ cluster, now, unreadable }: Installation): readonly Finding[] {
  if (unreadable.some((each) => each.startsWith("Pods"))) return [];
  const uids = new Set(cluster.workloads.map(({ metadata }) => metadata.uid));
  return cluster.attachments.flatMap(({ metadata, spec }) => {
    const listed = Object.values(spec.mountpointS3PodAttachments).flat();
    const gone = listed.filter(
      ({ workloadPodUID, attachmentTime }) =>
        !uids.has(workloadPodUID) && now.getTime() - Date.parse(attachmentTime) > cleanupMs,
    );
    if (gone.length === 0) return [];
    return [
      {
        id: "attachment-stale",
        severity: "warning" as const,
        summary: `Attachment ${metadata.name} lists ${gone.length} Pods that do not exist`,
        evidence: gone
          .map(({ workloadPodUID }) => `UID ${workloadPodUID}`)
          .slice(0, 5)
          .join(", "),
        fix: "the reconciler removes them: kubectl logs deploy/s3-csi-controller -c s3-pod-reconciler says why it does not",
      },
    ];
  });
}

export function checkAttachmentObjects({ cluster, nodes }: Installation): readonly Finding[] {
  const known = new Set(nodes.map(({ metadata }) => metadata.name));
  const volumes = new Set(cluster.volumes.map(({ metadata }) => metadata.name));
  return cluster.attachments.flatMap(({ metadata, spec }) => {
    const isUsed = Object.values(spec.mountpointS3PodAttachments).flat().length > 0;
    return [
      ...(known.size === 0 || known.has(spec.nodeName)
        ? []
        : [
            finding(
              "attachment-without-node",
              `Attachment ${metadata.name} is for node ${spec.nodeName}, which does not exist`,
              "the node was removed while workloads ran there",
              `kubectl get pods -A --field-selector spec.nodeName=${spec.nodeName}`,
            ),
          ]),
      ...(cluster.volumes.length === 0 || volumes.has(spec.persistentVolumeName) || !isUsed
        ? []
        : [
            finding(
              "attachment-without-volume",
              `Pods use volume ${spec.persistentVolumeName}, whose PersistentVolume does not exist`,
              `attachment ${metadata.name} on node ${spec.nodeName}`,
              "restore the PersistentVolume from a backup, or delete the Pods: a dead mount cannot be healed without it",
            ),
          ]),
    ];
  });
}

/** Everything that the tree shows as a problem of a Mountpoint Pod, with the command that shows more. */
export function checkMountpointPods({ topology }: Installation): readonly Finding[] {
  return topology.volumes.flatMap(({ name, attachments }) =>
    attachments.flatMap(({ node, mountpointPods }) =>
      mountpointPods
        .filter(({ problem }) => problem !== "")
        .map((pod) =>
          finding(
            idOf(pod.problem, pod.mount),
            `Volume ${name} is not served on node ${node}`,
            `Mountpoint Pod ${pod.name}: ${pod.problem}`,
            `kubectl s3 describe ${name}; kubectl describe pod -n ${pod.namespace} ${pod.name}`,
          ),
        ),
    ),
  );
}

const ids: readonly (readonly [RegExp, FindingId])[] = [
  [/schedul/i, "mountpoint-pod-unschedulable"],
  [/ImagePull|ErrImage|image/i, "mountpoint-pod-image"],
  [/CrashLoop|restart|crash/i, "mountpoint-pod-crashing"],
  [/does not exist|Missing|gone/i, "mountpoint-pod-missing"],
  [/ended|Failed|Evicted/i, "mountpoint-pod-ended"],
];

const ofMounts: Readonly<Record<string, FindingId>> = { dead: "mount-dead", hung: "mount-hung", stuck: "mount-stuck" };

function idOf(problem: string, mount: string): FindingId {
  return ofMounts[mount] ?? ids.find(([pattern]) => pattern.test(problem))?.[1] ?? "mountpoint-pod-problem";
}

export function checkOrphanedPods({ topology, cluster, now }: Installation): readonly Finding[] {
  const pods = new Map(cluster.mountpointPods.map((pod) => [pod.metadata.name, pod]));
  return topology.orphanedPods.flatMap(({ name, namespace, createdAt, ending }) => {
    const since = pods.get(name)?.metadata.annotations?.[annotations.needsUnmountSince];
    const ageMs = now.getTime() - Date.parse(since ?? createdAt ?? "");
    if (!(ageMs > (ending ? unmountMs : cleanupMs))) return [];
    return [
      finding(
        ending ? "mountpoint-pod-not-ending" : "mountpoint-pod-orphaned",
        `Mountpoint Pod ${name} serves no workload and does not end`,
        ending ? `it was asked to unmount ${Math.round(ageMs / 60_000)} min ago` : "no attachment lists it",
        `kubectl describe pod -n ${namespace} ${name}; kubectl logs deploy/s3-csi-controller -c s3-pod-reconciler`,
      ),
    ];
  });
}

/** Without them everything works; the first Pod on the node waits longer. */
export function checkWaitingPods({ topology, now }: Installation): readonly Finding[] {
  return topology.waitingPods.flatMap(({ name, namespace, node, createdAt, problem }) => {
    if (problem === "" || !(now.getTime() - Date.parse(createdAt ?? "") > cleanupMs)) return [];
    const summary = `Mountpoint Pod ${name}, which waits for a volume on node ${node}, does not run`;
    const found = finding(idOf(problem, ""), summary, problem, `kubectl describe pod -n ${namespace} ${name}`);
    return [{ ...found, severity: "warning" as const }];
  });
}

export function checkWaitingWorkloads({ cluster, now }: Installation): readonly Finding[] {
  const claims = new Map(cluster.claims.map((each) => [`${each.metadata.namespace}/${each.metadata.name}`, each]));
  const ours = new Set(cluster.volumes.map(({ metadata }) => metadata.name));
  const listed = new Set(
    cluster.attachments.flatMap(({ spec }) =>
      Object.values(spec.mountpointS3PodAttachments)
        .flat()
        .map((each) => each.workloadPodUID as string),
    ),
  );
  return cluster.workloads.flatMap(({ metadata, spec, status }) => {
    const waits = status?.phase === "Pending" && spec.nodeName !== undefined && !listed.has(metadata.uid);
    const isNew = now.getTime() - Date.parse(metadata.creationTimestamp) < assignMs;
    const names = (spec.volumes ?? []).map((each) =>
      each.ephemeral === undefined ? each.persistentVolumeClaim?.claimName : `${metadata.name}-${each.name}`,
    );
    const volume = names
      .map((name) => claims.get(`${metadata.namespace}/${name}`)?.spec.volumeName)
      .find((name) => name !== undefined && ours.has(name));
    if (!waits || isNew || volume === undefined || metadata.deletionTimestamp !== undefined) return [];
    return [
      finding(
        "workload-unassigned",
        `Pod ${metadata.namespace}/${metadata.name} waits for volume ${volume}, and no attachment lists it`,
        `it was scheduled to ${spec.nodeName} and has no Mountpoint Pod`,
        `kubectl s3 describe ${volume}; kubectl logs deploy/s3-csi-controller -c s3-pod-reconciler`,
      ),
    ];
  });
}

function finding(id: FindingId, summary: string, evidence: string, fix: string): Finding {
  return { id, severity: "problem", summary, evidence, fix };
}
