/** Derives the node's part of an attachment's status from the states of its sources. Pure. */
import {
  type AttachmentStatus,
  conditionSince,
  type NodeView,
  type SourceCondition,
  type StatusCondition,
} from "../../core/attachment-status.ts";
import type { PodName } from "../../core/names.ts";
import type { SourceState } from "../source/source-state.ts";
import type { LocalAttachment } from "./attachments.ts";

/** A Mountpoint Pod that serves at least one workload. */
interface NeededPod {
  readonly name: PodName;
  readonly health: SourceCondition;
}

export function nodeStatusOf(
  attachment: LocalAttachment,
  stateOf: (name: PodName) => SourceState,
  now: Date,
): AttachmentStatus {
  const lists = Object.entries(attachment.mountpointS3PodAttachments) as [PodName, readonly unknown[]][];
  const needed = lists.flatMap(([name, served]) =>
    served.length > 0 ? [{ name, health: stateOf(name).condition }] : [],
  );
  const conditions = [mountedCondition(needed), healthyCondition(needed)];
  return {
    conditions: conditions.map((condition) => conditionSince(attachment.status, now, condition)),
    mountpointPods: Object.fromEntries(lists.map(([name]) => [name, viewOf(stateOf(name))])),
  };
}

function viewOf({ condition, lastDeath, heals, inUse }: SourceState): NodeView {
  return {
    health: condition,
    // Kubernetes writes times in whole seconds.
    ...(lastDeath === undefined ? {} : { lastDeath: `${lastDeath.toISOString().slice(0, 19)}Z` }),
    ...(heals === 0 ? {} : { heals }),
    ...(inUse === undefined ? {} : { inUse }),
  };
}

type Condition = Omit<StatusCondition, "lastTransitionTime">;

function mountedCondition(needed: readonly NeededPod[]): Condition {
  const type = "Mounted";
  if (needed.length === 0) return { type, status: "Unknown", reason: "NoWorkload", message: "No workload is listed." };
  const missing = needed.find(({ health }) => health === "absent" || health === "starting");
  if (missing === undefined) {
    return { type, status: "True", reason: "Mounted", message: "The source of every Mountpoint Pod is mounted." };
  }
  const { name, health } = missing;
  return health === "starting"
    ? { type, status: "False", reason: "Starting", message: `mount-s3 of Mountpoint Pod ${name} has not answered yet.` }
    : { type, status: "False", reason: "NotMounted", message: `The source of Mountpoint Pod ${name} is not mounted.` };
}

function healthyCondition(needed: readonly NeededPod[]): Condition {
  const type = "Healthy";
  const dead = needed.find(({ health }) => health === "dead");
  if (dead !== undefined) {
    const message = `mount-s3 of Mountpoint Pod ${dead.name} has ended: files give ENOTCONN until it is mounted again.`;
    return { type, status: "False", reason: "Dead", message };
  }
  const stuck = needed.find(({ health }) => health === "stuck");
  if (stuck !== undefined) {
    const message = `mount-s3 of Mountpoint Pod ${stuck.name} has lost its mount and does not exit: another Mountpoint Pod replaces it.`;
    return { type, status: "False", reason: "Stuck", message };
  }
  const hung = needed.find(({ health }) => health === "hung");
  if (hung !== undefined) {
    const message = `mount-s3 of Mountpoint Pod ${hung.name} does not answer: accesses to the volume block.`;
    return { type, status: "False", reason: "Hung", message };
  }
  return needed.some(({ health }) => health === "serving")
    ? { type, status: "True", reason: "Serving", message: "mount-s3 answers." }
    : { type, status: "Unknown", reason: "NotMounted", message: "No source is mounted." };
}
