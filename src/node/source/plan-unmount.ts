/** Pure: decides whether a source is unmounted, and states the reason in one clause. */

interface SourceUse {
  /** "gone" requires that the initial list of Mountpoint Pods is complete. */
  readonly mountpointPod: "needed" | "needsUnmount" | "gone";
  /** Number of mounts of the source's device in directories of Pods: targets, and bind mounts of sub-paths. */
  readonly binds: number;
  /** A publish is in progress and will bind the source. */
  readonly publishing: boolean;
}

export interface UnmountPlan {
  readonly do: "leave" | "later" | "unmount";
  readonly because: string;
}

export function planUnmount({ mountpointPod, binds, publishing }: SourceUse): UnmountPlan {
  if (mountpointPod === "needed") return { do: "leave", because: "the Mountpoint Pod is needed" };
  if (publishing) return { do: "later", because: "a workload is being connected" };
  if (binds > 0) return { do: "later", because: "workloads still use the source" };
  const because = mountpointPod === "gone" ? "the Mountpoint Pod is gone" : "the Mountpoint Pod is to be unmounted";
  return { do: "unmount", because };
}
