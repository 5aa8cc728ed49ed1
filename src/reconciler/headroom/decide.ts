/**
 * Which headroom Pods a workload should have, and when it may be scheduled (LC-19). All judgement is here, as in the
 * decision about places: no clock, no cache, no server.
 *
 * A workload is never held back for a reason that only others can change: whatever stands against reserving room is
 * reported on the workload, and the workload is scheduled without headroom.
 */

import { headroomPodName } from "../../core/names.ts";
import type { Again, Refusal } from "../decision/decision.ts";
import type { HeadroomPod } from "../domain/headroom-pod.ts";
import type { S3Volume } from "../domain/persistent-volume.ts";
import type { Reservation } from "../domain/reservation.ts";

export interface Observed {
  readonly now: Date;
  /** Whether the installation has headroom turned on. */
  readonly enabled: boolean;
  /** undefined: the workload runs, ends or is gone, or asks for nothing. */
  readonly reservation: Reservation | undefined;
  readonly volumes: readonly ClaimedVolume[];
  /** Those of this workload. */
  readonly headroomPods: readonly HeadroomPod[];
}

export interface ClaimedVolume {
  readonly claim: string;
  /** foreign: it belongs to another driver, and needs no Mountpoint Pod. */
  readonly volume: S3Volume | Refusal | "unbound" | "foreign";
}

export interface Decision {
  /** In this order: a later one relies on the earlier ones. */
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
 * A claim of a class with immediate binding is often made together with the workload and bound seconds later. One that
 * is bound to its first consumer waits for the scheduler, which waits for us.
 */
export const bindingPatienceMs = 10_000;

export function decide(observed: Observed): Decision {
  const { enabled, reservation, headroomPods } = observed;
  if (!enabled) return only([...deleting(headroomPods, "headroom is turned off"), ...turnedOff(reservation)]);
  if (reservation === undefined) return only(deleting(headroomPods, "its workload runs or is gone"));
  const ended = deleting(
    headroomPods.filter((pod) => pod.ended),
    "it has ended",
  );
  // Once the workload is let go, none is made anew: a missing one may have given way to the Mountpoint Pod.
  if (!reservation.gated) return only(ended);
  const waitMs = patienceLeftMs(observed, reservation);
  if (waitMs > 0) return { steps: ended, again: { afterMs: waitMs, because: "a claim is not bound yet" } };
  return only([...ended, ...reserving(observed, reservation)]);
}

function reserving({ volumes, headroomPods }: Observed, reservation: Reservation): readonly Step[] {
  const served = volumes.flatMap(({ volume }) => (isServed(volume) ? [volume] : []));
  const present = new Set(headroomPods.filter(({ ended }) => !ended).map(({ name }) => name));
  const missing = served.filter(({ name }) => !present.has(headroomPodName(reservation.uid, name)));
  return [
    ...complaints(volumes).map(
      (because) => ({ do: "report", reservation, reason: "HeadroomNotReserved", because }) as const,
    ),
    // First, because a headroom Pod finds the workload by its label.
    ...(served.length === 0 || reservation.labelled
      ? []
      : [{ do: "labelWorkload", reservation, because: "it waits for room" } as const]),
    ...missing.map(
      (volume) => ({ do: "createHeadroomPod", reservation, volume, because: "a workload waits for room" }) as const,
    ),
    { do: "removeGate", reservation, because: "there is nothing left to wait for" },
  ];
}

function isServed(volume: ClaimedVolume["volume"]): volume is S3Volume {
  return typeof volume !== "string" && !("refused" in volume);
}

/** What the owner of a workload should know that goes without room for one of its volumes, or for any. */
function complaints(volumes: readonly ClaimedVolume[]): readonly string[] {
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

function patienceLeftMs({ now, volumes }: Observed, { createdAt }: Reservation): number {
  if (volumes.every(({ volume }) => volume !== "unbound")) return 0;
  const leftMs = createdAt.getTime() + bindingPatienceMs - now.getTime();
  // The API server's clock need not agree with ours. One that is far ahead would be waited for until ours is there.
  return leftMs > 2 * bindingPatienceMs ? 0 : Math.min(leftMs, bindingPatienceMs);
}

/** The right to change it is granted only where headroom is turned on, so it stays as it is. */
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
