/** `kubectl s3 tree`: PersistentVolume → node → Mountpoint Pod → workloads. */

import { isWarmPodName } from "../../core/names.ts";
import type {
  AttachmentView,
  Health,
  MountpointPodView,
  Topology,
  VolumeView,
  WorkloadView,
} from "../../topology/topology.ts";
import { age } from "../output/age.ts";
import type { Style } from "../output/style.ts";
import { printable } from "../output/table.ts";
import { type Branch, tree } from "../output/tree.ts";

export function treeText(topology: Topology, style: Style): string {
  const { volumes, orphanedPods, waitingPods, readAt } = topology;
  if (volumes.length + orphanedPods.length + waitingPods.length === 0) return "There are no volumes of this driver.\n";
  const printer = { style, now: readAt };
  const roots = volumes.map((volume) => volumeBranch(printer, volume));
  const orphans = orphanedPods.map((pod) => podBranch(printer, pod));
  const rest = orphans.length === 0 ? [] : [{ text: "Mountpoint Pods that no attachment lists", branches: orphans }];
  return tree([...roots, ...rest, ...waitingBranches(printer, waitingPods)]);
}

/** By node. */
function waitingBranches(printer: Printer, pods: readonly MountpointPodView[]): readonly Branch[] {
  if (pods.length === 0) return [];
  const nodes = [...new Set(pods.map(({ node }) => node))].toSorted((a, b) => (a < b ? -1 : 1));
  const branches = nodes.map((node) => ({
    text: `node ${node}`,
    branches: pods.filter((pod) => pod.node === node).map((pod) => podBranch(printer, pod)),
  }));
  return [{ text: `Mountpoint Pods that wait for a volume: ${pods.length}`, branches }];
}

interface Printer {
  readonly style: Style;
  readonly now: string;
}

function volumeBranch(printer: Printer, volume: VolumeView): Branch {
  const { name, bucket, prefix, claim, health, attachments } = volume;
  const where = bucket === "" ? "bucket not readable" : `s3://${bucket}/${prefix}`;
  const claimed = claim === undefined ? "no claim" : `claim ${claim.namespace}/${claim.name}`;
  const text = `${printer.style.bold(printable(name))}  ${claimed}  ${where}  ${state(printer, health)}`;
  const problems = volume.problems.filter((each) => !attachments.some(({ node }) => each.startsWith(`${node}: `)));
  return {
    text,
    branches: [
      ...problems.map((problem) => problemBranch(printer, problem)),
      ...attachments.map((attachment) => attachmentBranch(printer, attachment)),
    ],
  };
}

function attachmentBranch(printer: Printer, attachment: AttachmentView): Branch {
  const { node, fsGroup, name, mountpointPods } = attachment;
  const group = fsGroup === "" ? "" : `  fsGroup ${fsGroup}`;
  const text = `node ${node}${group}  ${printer.style.dim(name)}`;
  return { text, branches: mountpointPods.map((pod) => podBranch(printer, pod)) };
}

function podBranch(printer: Printer, pod: MountpointPodView): Branch {
  const facts = [
    pod.phase,
    pod.mount,
    pod.ending ? "unmounting" : "",
    pod.restarts > 0 ? `${pod.restarts} restarts` : "",
    pod.heals > 0 ? `healed ${pod.heals} times, last death ${age(pod.lastDeath, printer.now)} ago` : "",
    age(pod.createdAt, printer.now),
  ];
  const title = pod.name === "" ? "Mountpoint Pod not readable" : `Mountpoint Pod ${short(pod.name)}`;
  const known = facts.filter((each) => each !== "").join(", ");
  const text = [title, known, state(printer, pod.health)].filter((each) => each !== "").join("  ");
  return {
    text,
    branches: [
      ...(pod.problem === "" ? [] : [problemBranch(printer, pod.problem)]),
      ...pod.workloads.map((workload) => ({ text: workloadText(workload), branches: [] })),
    ],
  };
}

function problemBranch({ style }: Printer, problem: string): Branch {
  return { text: style.health("problem", `! ${printable(problem)}`), branches: [] };
}

function workloadText({ namespace, name, phase, uid }: WorkloadView): string {
  return name === undefined
    ? `Pod with UID ${uid}, which is gone or not readable`
    : `Pod ${namespace}/${name}  ${phase}`;
}

/** The hash of 40 or 56 digits would push everything else off the screen; `describe` and `-o json` have it whole. */
function short(name: string): string {
  const shown = isWarmPodName(name) ? 18 : 13;
  return name.length > shown + 2 ? `${name.slice(0, shown)}…` : name;
}

function state({ style }: Printer, health: Health): string {
  return style.health(health, health);
}
