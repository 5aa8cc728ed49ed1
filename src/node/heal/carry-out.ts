/** Carries out a plan of replacements, one after the other, and says of each that failed why. */
import { DriverError } from "../../core/errors.ts";
import type { PodUid } from "../../core/names.ts";
import { MountLost } from "../../linux/mounts/mount-tree.ts";
import { isErrno } from "../../runtime/errno.ts";
import { describeError } from "../../runtime/log.ts";
import { PathHangs } from "./inside-threads.ts";
import type { Refusal, Swap, Swaps } from "./plan-swaps.ts";

export interface Swapped {
  /** How many mounts were replaced. */
  readonly replaced: number;
  readonly failures: readonly SwapFailure[];
}

/** Where it did not work. */
export interface SwapFailure {
  /** Whose container or volume it is; undefined: it cannot be told. */
  readonly workload: PodUid | undefined;
  readonly mountPoint: string;
  readonly because: string;
  /** The path led elsewhere, so nothing was touched. */
  readonly isUnsafe: boolean;
}

interface Steps {
  readonly ownerOf: (place: Pick<Swap, "mountPoint">) => PodUid | undefined;
  readonly isStillPlanned: (swap: Swap) => Promise<boolean>;
  readonly replace: (swap: Swap) => Promise<void>;
  /** Nothing is mounted there any more, so that no plan will name the place again. */
  readonly onLost?: (swap: Swap, error: MountLost) => void;
}

export async function carryOut(
  { swaps, refusals }: Swaps,
  { ownerOf, isStillPlanned, replace, onLost }: Steps,
): Promise<Swapped> {
  const failed: Omit<SwapFailure, "workload">[] = refusals.map(certain);
  let replaced = 0;
  for (const swap of swaps) {
    const { mountPoint } = swap;
    try {
      await replace(swap);
      replaced += 1;
    } catch (error) {
      // What fails at a place that is gone by now, with its container or its volume, is no failure.
      if (!(error instanceof MountLost || (await isStillPlanned(swap)))) continue;
      if (error instanceof MountLost) onLost?.(swap, error);
      failed.push({ mountPoint, because: describeError(error), isUnsafe: leadsElsewhere(error) });
      // Each may take seconds to be given up, and other Pods wait: the rest has its turn in the next attempt.
      if (error instanceof PathHangs) break;
    }
  }
  const failures = failed.map((failure) => Object.assign({ workload: ownerOf(failure) }, failure));
  return { replaced, failures };
}

function certain({ mountPoint, because }: Refusal) {
  return { mountPoint, because, isUnsafe: false };
}

/** ELOOP: a symbolic link on the path; EXDEV: a directory was moved out of the root while it was looked up. */
function leadsElsewhere(error: unknown): boolean {
  return isErrno(error, "ELOOP", "EXDEV") || (error instanceof DriverError && error.kind === "denied");
}
