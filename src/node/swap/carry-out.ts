/** Executes planned replacements one after the other and collects the reason of each failure. */
import { DriverError } from "../../core/errors.ts";
import type { PodUid } from "../../core/names.ts";
import { MountLost } from "../../linux/mounts/mount-tree.ts";
import { isErrno } from "../../runtime/errno.ts";
import { describeError } from "../../runtime/log.ts";
import { PathHangs } from "./inside-threads.ts";
import type { Refusal, Swap, Swaps } from "./plan-swaps.ts";

export interface Swapped {
  /** Number of mounts that were replaced. */
  readonly replaced: number;
  readonly failures: readonly SwapFailure[];
}

/** A mount that could not be replaced. */
export interface SwapFailure {
  /** The workload to which the container or volume belongs; undefined if that is unknown. */
  readonly workload: PodUid | undefined;
  readonly mountPoint: string;
  readonly because: string;
  /** The path led to another file, so nothing was changed. */
  readonly isUnsafe: boolean;
  /** Nothing is mounted at the path any more, and only a new container gets the volume there. */
  readonly isLost?: true;
}

interface Steps {
  readonly ownerOf: (mount: Pick<Swap, "mountPoint">) => PodUid | undefined;
  readonly isStillPlanned: (swap: Swap) => Promise<boolean>;
  readonly replace: (swap: Swap) => Promise<void>;
  /** Called when nothing is mounted at the path any more: later plans do not contain the path. */
  readonly onLost?: (swap: Swap, error: MountLost) => void;
}

export async function carryOut(
  { swaps, refusals }: Swaps,
  { ownerOf, isStillPlanned, replace, onLost }: Steps,
): Promise<Swapped> {
  const failed: Omit<SwapFailure, "workload">[] = refusals.map(toFailure);
  let replaced = 0;
  for (const swap of swaps) {
    const { mountPoint } = swap;
    try {
      await replace(swap);
      replaced += 1;
    } catch (error) {
      // A replacement is not a failure if its mount is gone by now, with its container or its volume.
      if (!(error instanceof MountLost || (await isStillPlanned(swap)))) continue;
      if (error instanceof MountLost) onLost?.(swap, error);
      const lost = error instanceof MountLost ? ({ isLost: true } as const) : {};
      failed.push({ mountPoint, because: describeError(error), isUnsafe: leadsElsewhere(error), ...lost });
      // Each hung path takes seconds to time out, and other Pods wait: the next attempt continues with the rest.
      if (error instanceof PathHangs) break;
    }
  }
  const failures = failed.map((failure) => Object.assign({ workload: ownerOf(failure) }, failure));
  return { replaced, failures };
}

function toFailure({ mountPoint, because }: Refusal) {
  return { mountPoint, because, isUnsafe: false };
}

/** ELOOP: a symbolic link on the path; EXDEV: a directory was moved out of the root while it was looked up. */
function leadsElsewhere(error: unknown): boolean {
  return isErrno(error, "ELOOP", "EXDEV") || (error instanceof DriverError && error.kind === "denied");
}
