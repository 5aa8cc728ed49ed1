/** How a part of the topology is, judged by its own parts. */
import type { StatusCondition } from "../core/attachment-status.ts";
import type { AttachmentView, Health, MountpointPodView } from "./topology.ts";

/** The gravest first. */
const order: readonly Health[] = ["problem", "waiting", "ok", "idle"];

export function worst(parts: readonly Health[]): Health {
  return order.find((each) => parts.includes(each)) ?? "idle";
}

export function podHealth(pod: Omit<MountpointPodView, "health">): Health {
  if (pod.problem !== "") return "problem";
  if (pod.workloads.length === 0) return "idle";
  // Without a report (a node plugin of 2.x) the phase of the Pod is all that is known.
  const isServing = pod.mount === "serving" || (pod.mount === "" && pod.phase === "Running");
  return isServing ? "ok" : "waiting";
}

export function attachmentHealth(pods: readonly MountpointPodView[], conditions: readonly StatusCondition[]): Health {
  const isUnassigned = conditions.some(
    ({ type, reason }) => type === "Assigned" && reason === "MountpointPodIrreplaceable",
  );
  return isUnassigned ? "problem" : worst(pods.map(({ health }) => health));
}

export function volumeHealth(attachments: readonly AttachmentView[], problems: readonly string[]): Health {
  return problems.length > 0 ? "problem" : worst(attachments.map(({ health }) => health));
}
