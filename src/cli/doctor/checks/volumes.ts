/** Checks of PersistentVolumes, claims and StorageClasses. */
import { DriverError } from "../../../core/errors.ts";
import { parseVolumeAttributes } from "../../../core/volume/volume-attributes.ts";
import type { Claim, EventObject, PersistentVolume } from "../../../topology/objects.ts";
import type { Finding } from "../finding.ts";
import type { FindingId } from "../finding-ids.ts";
import type { Installation } from "../installation.ts";

export function checkVolumeAttributes({ cluster }: Installation): readonly Finding[] {
  return cluster.volumes.flatMap(({ metadata, spec }) => {
    try {
      parseVolumeAttributes(spec.csi?.volumeAttributes ?? {});
      return [];
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      return [
        finding(
          "volume-refused",
          `PersistentVolume ${metadata.name} cannot be mounted`,
          error.message,
          `make the PersistentVolume again with the right attributes: kubectl get pv ${metadata.name} -o yaml`,
        ),
      ];
    }
  });
}

export function checkVolumeHandles({ cluster }: Installation): readonly Finding[] {
  const seen = new Map<string, string>();
  return cluster.volumes.flatMap(({ metadata, spec }) => {
    const handle = spec.csi?.volumeHandle ?? "";
    const former = seen.get(handle);
    seen.set(handle, metadata.name);
    if (former === undefined) return [];
    return [
      finding(
        "volume-handle-shared",
        `PersistentVolumes ${former} and ${metadata.name} have the same volumeHandle: kubelet takes both for one volume`,
        `volumeHandle ${handle}`,
        "give one of them another volumeHandle; only bucketName says which bucket is mounted",
      ),
    ];
  });
}

/** csi-provisioner deletes within seconds, and reports a failure as an event. */
const deletionMs = 600_000;

export function checkReleasedVolumes({ cluster, now, events }: Installation): readonly Finding[] {
  return cluster.volumes.filter(isToBeDeleted).flatMap(({ metadata, status }) => {
    const { name, deletionTimestamp, creationTimestamp } = metadata;
    const failure = latest(events, "PersistentVolume", name);
    const isOld = now.getTime() - Date.parse(deletionTimestamp ?? creationTimestamp) > deletionMs;
    if (failure === undefined && !isOld) return [];
    return [
      finding(
        "volume-not-deleted",
        `PersistentVolume ${name} is released, and its bucket is not deleted`,
        failure?.message ?? `phase ${status?.phase}`,
        `kubectl describe pv ${name}; kubectl logs deploy/s3-csi-controller -c s3-csi-controller`,
      ),
    ];
  });
}

function isToBeDeleted({ spec, status }: PersistentVolume): boolean {
  const isDynamic = spec.csi?.volumeAttributes?.["dynamicProvisioning"] === "true";
  const isReleased = status?.phase === "Released" || status?.phase === "Failed";
  return isDynamic && isReleased && spec.persistentVolumeReclaimPolicy === "Delete";
}

const claimMs = 60_000;

export function checkPendingClaims({ claims, classes, now, events }: Installation): readonly Finding[] {
  const late = new Set(
    classes
      .filter(({ volumeBindingMode }) => volumeBindingMode === "WaitForFirstConsumer")
      .map(({ metadata }) => metadata.name),
  );
  return claims.flatMap((claim) => {
    const { namespace, name } = claim.metadata;
    const failure = latest(events, "PersistentVolumeClaim", name, namespace);
    if (claim.status?.phase !== "Pending") return [];
    // A claim of such a class waits for a Pod, unless provisioning was tried and failed.
    if (failure === undefined && (isYoung(claim, now) || late.has(claim.spec.storageClassName ?? ""))) return [];
    return [
      finding(
        "claim-pending",
        `Claim ${namespace}/${name} gets no bucket`,
        failure?.message ?? "it is Pending, and there is no event",
        `kubectl describe pvc -n ${namespace} ${name}; kubectl logs deploy/s3-csi-controller -c csi-provisioner`,
      ),
    ];
  });
}

export function checkClasses({ classes }: Installation): readonly Finding[] {
  return classes.flatMap(({ metadata, parameters = {} }) => {
    const half = ["provisioner", "node-publish"].filter((use) => {
      const names = [`csi.storage.k8s.io/${use}-secret-name`, `csi.storage.k8s.io/${use}-secret-namespace`];
      return names.filter((each) => parameters[each] !== undefined).length === 1;
    });
    const policy = parameters["deletePolicy"];
    return [
      ...half.map((use) =>
        finding(
          "class-secret-incomplete",
          `StorageClass ${metadata.name} names its ${use} Secret incompletely`,
          "secret-name and secret-namespace go together",
          `make the class again with csi.storage.k8s.io/${use}-secret-name and -namespace`,
        ),
      ),
      ...(policy === undefined || policies.includes(policy)
        ? []
        : [
            finding(
              "class-parameter",
              `StorageClass ${metadata.name} has a deletePolicy that does not exist`,
              `deletePolicy: ${policy}`,
              `use one of: ${policies.join(", ")}`,
            ),
          ]),
    ];
  });
}

/** The values that docs/reference/storage-class.md describes. */
const policies = ["delete-if-empty", "refuse-until-empty", "purge", "retain"];

function isYoung({ metadata }: Claim, now: Date): boolean {
  return now.getTime() - Date.parse(metadata.creationTimestamp) < claimMs;
}

function latest(events: readonly EventObject[], kind: string, name: string, namespace = ""): EventObject | undefined {
  return events.findLast(
    ({ involvedObject: about }) => about.kind === kind && about.name === name && (about.namespace ?? "") === namespace,
  );
}

function finding(id: FindingId, summary: string, evidence: string, fix: string): Finding {
  return { id, severity: "problem", summary, evidence, fix };
}
