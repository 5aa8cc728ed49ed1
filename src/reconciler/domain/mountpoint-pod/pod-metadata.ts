/** Which labels and annotations of an installation reach its Mountpoint Pods. Pure. */
import { annotations, livePrefix } from "../../../core/names.ts";

const ofMoves = new Set<string>([annotations.move, annotations.moveFailed, annotations.replaces, annotations.movedTo]);

/** A request to move on every new Pod would move its workloads again and again. Live options are those of the volume. */
export function withoutRequests(extra: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const kept = Object.entries(extra).filter(([name]) => !(ofMoves.has(name) || name.startsWith(livePrefix)));
  return Object.fromEntries(kept);
}

/** MP-6. The name of a volume may be longer than the 63 characters of a label: then only the annotation has it. */
export function validLabels(all: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const valid = Object.entries(all).filter(([, value]) =>
    /^[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$/.test(value),
  );
  return Object.fromEntries(valid);
}
