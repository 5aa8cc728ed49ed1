/** The scheduler's verdict on a Pod that may run on one node only, without what it says about all the other nodes. */

export interface SchedulingProblem {
  readonly cause: string;
  /** A whole sentence. */
  readonly fix: string;
}

/**
 * Such as "0/9 nodes are available: 1 Too many pods, 8 node(s) didn't match Pod's node affinity/selector. preemption: …".
 * The counts change with every node that comes or goes, and say nothing about ours.
 */
export function schedulingProblem(verdict: string): SchedulingProblem {
  const [, problems = verdict] = /^\d+\/\d+ nodes are available: (.*?)\.?(?: preemption: .*)?$/s.exec(verdict) ?? [];
  const ours = problems.split(", ").flatMap((problem) => {
    const text = problem.replace(/^\d+ (node\(s\) )?/, "").trim();
    return text === "" || /node ?affinity/i.test(text) ? [] : [text];
  });
  const cause = [...new Set(ours)].join(", ").slice(0, 300);
  if (cause === "") return { cause: "there is no such node", fix: "Delete the workload if its node is gone for good." };
  const known = fixes.find(([pattern]) => pattern.test(cause));
  return { cause, fix: known?.[1] ?? "Make room for it on the node, or move the workload to another one." };
}

const fixes: readonly (readonly [RegExp, string])[] = [
  [/too many pods/i, "Move Pods away from the node, or raise maxPods of its kubelet."],
  [
    /insufficient/i,
    "Free resources of the node, or ask for less: volumeAttributes.mountpointContainerResourcesRequests… of the PersistentVolume, mountpointPod.resources of the chart.",
  ],
  [/taint/i, "Add a toleration for the node's taint to mountpointPod.tolerations of the chart."],
  [
    /PersistentVolumeClaim|volume/i,
    "The cache of the volume needs a claim that can be bound: check volumeAttributes.cacheEphemeralStorageClassName of the PersistentVolume.",
  ],
];
