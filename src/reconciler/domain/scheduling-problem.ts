/** The scheduler's message about a Pod that may run on one node only, reduced to what it says about that node. */

export interface SchedulingProblem {
  readonly cause: string;
  /** A complete sentence. */
  readonly fix: string;
}

/**
 * Example: "0/9 nodes are available: 1 Too many pods, 8 node(s) didn't match Pod's node affinity/selector. preemption: …".
 * The counts change whenever a node joins or leaves the cluster, and say nothing about the node of the Pod.
 */
export function schedulingProblem(message: string): SchedulingProblem {
  const [, problems = message] = /^\d+\/\d+ nodes are available: (.*?)\.?(?: preemption: .*)?$/s.exec(message) ?? [];
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
