/** Decides what to do about existing mounts. Pure: each plan depends on its argument only and states its reason in one clause. */

/** The mount that a path look-up reaches; for a mount of the driver, the answer of mount-s3. */
export type MountState = "nothing" | "foreign" | "serving" | "dead";

export interface TargetSeen {
  readonly target: MountState | "hung";
  readonly isReadOnly: boolean;
  readonly wantsReadOnly: boolean;
  /** The driver 1.x made the mount at the target: mount-s3 runs on the host, and the workload gets no Mountpoint Pod. */
  readonly isV1: boolean;
}

export interface TargetPlan {
  readonly do: "keep" | "keepV1" | "bind" | "giveUp" | "giveUpV1";
  readonly because: string;
}

export function planTarget({ target, isReadOnly, wantsReadOnly, isV1 }: TargetSeen): TargetPlan {
  switch (target) {
    case "nothing":
      return { do: "bind", because: "nothing is mounted at the target" };
    case "foreign":
      // The workload must see the bucket, whatever else is mounted; unpublishing unmounts the whole stack.
      return { do: "bind", because: "something else is mounted at the target" };
    case "dead":
      if (isV1) return { do: "giveUpV1", because: "the mount-s3 that the driver 1.x started has ended" };
      // On top of the dead mount, not instead of it: only a mount on top of it propagates to containers with a slave copy.
      return { do: "bind", because: "the mount at the target is dead" };
    case "hung":
      return { do: "giveUp", because: "mount-s3 does not answer" };
    case "serving":
      if (isV1) return { do: "keepV1", because: "the driver 1.x published the target" };
      return planServing(isReadOnly, wantsReadOnly);
    default:
      return target satisfies never;
  }
}

/** 2.x left read-only targets writable. Running containers keep their mount; the next container gets the read-only one. */
function planServing(isReadOnly: boolean, wantsReadOnly: boolean): TargetPlan {
  return wantsReadOnly && !isReadOnly
    ? { do: "bind", because: "the target is writable and must not be" }
    : { do: "keep", because: "the target is published" };
}

export interface SourcePlan {
  readonly do: "keep" | "mount";
  readonly because: string;
}

export function planSource(source: MountState): SourcePlan {
  switch (source) {
    case "nothing":
      return { do: "mount", because: "the source is not mounted yet" };
    case "foreign":
      return { do: "mount", because: "something else is mounted at the source" };
    case "dead":
      return { do: "mount", because: "the mount at the source is dead" };
    case "serving":
      return { do: "keep", because: "the source is served already" };
    default:
      return source satisfies never;
  }
}
