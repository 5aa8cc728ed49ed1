/**
 * Which headroom Pods a workload should have, and when it may be scheduled (LC-19). A pure function, as the decision about a volume on a
 * node: it knows no clock, no cache and no API server.
 *
 * A workload never waits for something that only an operator can change: why its headroom cannot be reserved is reported on the
 * workload, and the workload is scheduled without headroom.
 */

import { headroomPodName } from "../../core/names.ts";
import type { Again, Refusal } from "../decision/decision.ts";
import type { HeadroomPod } from "../domain/mountpoint-pod/headroom-pod.ts";
import type { S3Volume } from "../domain/persistent-volume.ts";
import type { Reservation } from "../domain/reservation.ts";

export interface Observed {
  readonly now: Date;
  /** Whether the installation has headroom turned on. */
  readonly enabled: boolean;
  /** undefined: the workload runs, ends or is gone, or reserves no headroom. */
  readonly reservation: Reservation | undefined;
  readonly volumes: readonly ClaimedVolume[];
  /** The headroom Pods of this workload. */
  readonly headroomPods: readonly HeadroomPod[];
}

export interface ClaimedVolume {
  readonly claim: string;
  /** foreign: a volume of another driver, which needs no Mountpoint Pod. */
  readonly volume: S3Volume | Refusal | "unbound" | "foreign";
}

export interface Decision {
  /** To be performed in this order: a step relies on the earlier ones. */
  readonly steps: readonly Step[];
  /** Set when time alone will change the decision. */
  readonly again: Again | undefined;
}

export type Step = { readonly because: string } & (
  | { readonly do: "report"; readonly reservation: Reservation; readonly reason: "HeadroomOff" | "HeadroomNotReserved" }
  | { readonly do: "labelWorkload"; readonly reservation: Reservation }
  | { readonly do: "createHeadroomPod"; readonly reservation: Reservation; readonly volume: S3Volume }
  | { readonly do: "removeGate"; readonly reservation: Reservation }
  | { readonly do: "deleteHeadroomPod"; readonly headroomPod: HeadroomPod }
);

/**
 * A claim with immediate binding is often created together with the workload and bound seconds later. A claim with
 * WaitForFirstConsumer waits for the scheduler, which waits for the removal of the gate.
 */
export const bindingTimeoutMs = 10_000;

export function decide(observed: Observed): Decision {
  const { enabled, reservation, headroomPods } = observed;
  if (!enabled) return only([...deleting(headroomPods, "headroom is turned off"), ...turnedOff(reservation)]);
  if (reservation === undefined) return only(deleting(headroomPods, "its workload runs or is gone"));
  const ended = deleting(
    headroomPods.filter((pod) => pod.ended),
    "it has ended",
  );
  // After the removal of the gate no headroom Pod is created: the Mountpoint Pod may have preempted a missing one.
  if (!reservation.gated) return only(ended);
  const waitMs = bindingTimeLeftMs(observed, reservation);
  if (waitMs > 0) return { steps: ended, again: { afterMs: waitMs, because: "a claim is not bound yet" } };
  return only([...ended, ...reserving(observed, reservation)]);
}

function reserving({ volumes, headroomPods }: Observed, reservation: Reservation): readonly Step[] {
  const served = volumes.flatMap(({ volume }) => (isServed(volume) ? [volume] : []));
  const present = new Set(headroomPods.filter(({ ended }) => !ended).map(({ name }) => name));
  const missing = served.filter(({ name }) => !present.has(headroomPodName(reservation.uid, name)));
  return [
    ...refusals(volumes).map(
      (because) => ({ do: "report", reservation, reason: "HeadroomNotReserved", because }) as const,
    ),
    // Before the headroom Pod, which finds the node of the workload by this label.
    ...(served.length === 0 || reservation.labelled
      ? []
      : [{ do: "labelWorkload", reservation, because: "it waits for headroom" } as const]),
    ...missing.map(
      (volume) => ({ do: "createHeadroomPod", reservation, volume, because: "a workload waits for headroom" }) as const,
    ),
    { do: "removeGate", reservation, because: "its headroom Pods exist or cannot be created" },
  ];
}

function isServed(volume: ClaimedVolume["volume"]): volume is S3Volume {
  return typeof volume !== "string" && !("refused" in volume);
}

/** Why the workload gets no headroom for a volume, or for any. */
function refusals(volumes: readonly ClaimedVolume[]): readonly string[] {
  if (volumes.every(({ volume }) => volume === "foreign")) {
    return [
      "No room is reserved: the Pod uses no volume of this driver. Remove the scheduling gate from its template.",
    ];
  }
  return volumes.flatMap(({ claim, volume }) => {
    if (volume === "unbound") {
      return `No room is reserved for PersistentVolumeClaim ${claim}: it is not bound to a volume. Create the volume first; a StorageClass with volumeBindingMode WaitForFirstConsumer cannot be used with this scheduling gate.`;
    }
    return typeof volume !== "string" && "refused" in volume ? `No room is reserved. ${volume.refused}` : [];
  });
}

function bindingTimeLeftMs({ now, volumes }: Observed, { createdAt }: Reservation): number {
  if (volumes.every(({ volume }) => volume !== "unbound")) return 0;
  const leftMs = createdAt.getTime() + bindingTimeoutMs - now.getTime();
  // The clock of the API server may differ. If it is far ahead, the workload would wait until the local clock has caught up.
  return leftMs > 2 * bindingTimeoutMs ? 0 : Math.min(leftMs, bindingTimeoutMs);
}

/** The chart grants the permission to patch Pods only where headroom is turned on, so the gate stays. */
function turnedOff(reservation: Reservation | undefined): readonly Step[] {
  if (!reservation?.gated) return [];
  const because =
    "The Pod waits for a scheduling gate that nobody removes: headroom for Mountpoint Pods is turned off. Set the chart value mountpointPod.headroom.enabled, or remove the gate s3.csi.scality.com/reserve-headroom-for-mppod.";
  return [{ do: "report", reservation, reason: "HeadroomOff", because }];
}

function deleting(headroomPods: readonly HeadroomPod[], because: string): readonly Step[] {
  const present = headroomPods.filter(({ terminating }) => !terminating);
  return present.map((headroomPod) => ({ do: "deleteHeadroomPod", headroomPod, because }));
}

function only(steps: readonly Step[]): Decision {
  return { steps, again: undefined };
}
