/** `kubectl s3 describe NAME`: everything about one volume, and what to do next. */

import { buildTopology } from "../../topology/build-topology.ts";
import { liveDifference } from "../../topology/live-view.ts";
import type { EventObject } from "../../topology/objects.ts";
import type { AttachmentView, MountpointPodView, VolumeView, WorkloadView } from "../../topology/topology.ts";
import { readCluster } from "../cluster/read-cluster.ts";
import { readEvents } from "../cluster/read-events.ts";
import { age } from "../output/age.ts";
import { formatted } from "../output/format.ts";
import type { Style } from "../output/style.ts";
import { printable } from "../output/table.ts";
import type { Session } from "../program.ts";
import { volumesNamed } from "../select.ts";
import { eventsText } from "./events.ts";

export async function describeCommand({ signal, api, options, terminal }: Session, name: string): Promise<void> {
  const cluster = await terminal.progress("reading the cluster", readCluster(signal, api, options));
  const topology = buildTopology(cluster);
  const volumes = volumesNamed(topology, name);
  const unreadable = [...topology.unreadable];
  const events = await terminal.progress(
    "reading events",
    readEvents(signal, api, volumes, { ...options, unreadable }),
  );
  const text = () =>
    volumes.map((volume) => describeText(volume, terminal.style, topology.readAt)).join("\n") +
    `\nEvents:\n${eventsText(events, terminal.style, topology.readAt)}`;
  const data: { readonly volumes: readonly VolumeView[]; readonly events: readonly EventObject[] } = {
    volumes,
    events,
  };
  terminal.print(formatted(options.output, data, text));
  for (const each of unreadable) terminal.printError(`not shown: ${each}\n`);
}

function describeText(volume: VolumeView, style: Style, now: string): string {
  const { claim } = volume;
  const facts: readonly (readonly [string, string])[] = [
    ["Volume", volume.name],
    ["Health", style.health(volume.health, volume.health)],
    ["Claim", claim === undefined ? "none" : `${claim.namespace}/${claim.name}`],
    ["Bucket", volume.bucket],
    ["Prefix", volume.prefix],
    ["Handle", volume.handle],
    ["Phase", volume.phase],
    ["Provisioning", volume.provisioning],
    ["StorageClass", volume.storageClass],
    ["Access modes", volume.accessModes.join(", ")],
    ["Mount options", volume.mountOptions.join(", ")],
    ["Live options", (volume.live?.wanted ?? []).join(", ")],
    ["Credentials", volume.identity === "driver" ? "those of the driver" : volume.identity],
    ["Age", age(volume.createdAt, now)],
  ];
  const problems = volume.problems.map((each) => `  ${style.health("problem", "!")} ${printable(each)}\n`);
  const refused = (volume.live?.refused ?? []).map((each) => `  ${style.health("waiting", "!")} ${printable(each)}\n`);
  return [
    ...facts.map(([title, value]) => line(title, value, 0)),
    ...refused,
    ...(problems.length === 0 ? [] : ["Problems:\n", ...problems]),
    ...volume.attachments.flatMap((each) => attachmentLines(each, { volume, style, now })),
    ...(volume.attachments.length === 0 ? ["No Pod uses the volume.\n"] : []),
  ].join("");
}

interface Shown {
  readonly volume: VolumeView;
  readonly style: Style;
  readonly now: string;
}

function attachmentLines(attachment: AttachmentView, shown: Shown): readonly string[] {
  const { style } = shown;
  const { node, name, fsGroup, mountOptions, conditions, mountpointPods } = attachment;
  return [
    line(`Node ${node}`, style.health(attachment.health, attachment.health), 0),
    line("Attachment", name, 2),
    line("fsGroup", fsGroup, 2),
    line("Mount options", mountOptions, 2),
    ...conditions.map(({ type, status, reason, message }) =>
      line(type, `${status} (${reason})${status === "True" ? "" : `: ${message}`}`, 2),
    ),
    ...mountpointPods.flatMap((pod) => podLines(pod, shown)),
  ];
}

function podLines(pod: MountpointPodView, { volume, style, now }: Shown): readonly string[] {
  return [
    ...(pod.name === "" ? [] : ownLines(pod, now)),
    ...(pod.name === "" ? [] : [line("Live options", liveDifference(volume, pod), 4)]),
    ...(pod.problem === "" ? [] : [line("Problem", style.health("problem", printable(pod.problem)), 4)]),
    ...pod.workloads.map((workload) => line("Workload", workloadText(workload, now), 4)),
    ...(pod.name === "" ? [] : [line("Log", `kubectl logs -n ${pod.namespace} ${pod.name}`, 4)]),
  ];
}

function workloadText({ namespace, name, phase, uid, attachedAt }: WorkloadView, now: string): string {
  const who = name === undefined ? `UID ${uid}, gone or not readable` : `${namespace}/${name}, ${phase}`;
  return attachedAt === "" ? who : `${who}, attached ${age(attachedAt, now)} ago`;
}

/** What is known only with the right to read attachments and Mountpoint Pods. */
function ownLines(pod: MountpointPodView, now: string): readonly string[] {
  return [
    line("Mountpoint Pod", `${pod.namespace}/${pod.name}`, 2),
    line(
      "State",
      `${pod.phase}, mount ${pod.mount === "" ? "not reported" : pod.mount}${pod.ending ? ", unmounting" : ""}`,
      4,
    ),
    line("Driver version", pod.version, 4),
    line("Restarts", String(pod.restarts), 4),
    line("Heals", pod.heals === 0 ? "0" : `${pod.heals}, last death ${age(pod.lastDeath, now)} ago`, 4),
  ];
}

const titleWidth = 18;

function line(title: string, value: string, indent: number): string {
  if (value === "") return "";
  return `${" ".repeat(indent)}${`${title}:`.padEnd(titleWidth)} ${value}\n`;
}
