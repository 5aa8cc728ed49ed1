/** `kubectl s3 events`: what happened, by time. */

import { buildTopology } from "../../topology/build-topology.ts";
import { countOf, timeOf } from "../../topology/event-times.ts";
import type { EventObject } from "../../topology/objects.ts";
import { readCluster } from "../cluster/read-cluster.ts";
import { readEvents } from "../cluster/read-events.ts";
import { age } from "../output/age.ts";
import { formatted } from "../output/format.ts";
import type { Style } from "../output/style.ts";
import { table } from "../output/table.ts";
import type { Session } from "../program.ts";
import { volumesNamed } from "../select.ts";

export async function eventsCommand({ signal, api, options, terminal }: Session, name?: string): Promise<void> {
  const cluster = await terminal.progress("reading the cluster", readCluster(signal, api, options));
  const topology = buildTopology(cluster);
  const volumes = name === undefined ? topology.volumes : volumesNamed(topology, name);
  const unreadable = [...topology.unreadable];
  const events = await terminal.progress(
    "reading events",
    readEvents(signal, api, volumes, { ...options, unreadable }),
  );
  terminal.print(formatted(options.output, events, () => eventsText(events, terminal.style, topology.readAt)));
  for (const each of unreadable) terminal.printError(`not shown: ${each}\n`);
}

export function eventsText(events: readonly EventObject[], style: Style, now: string): string {
  if (events.length === 0) return "There are no events. Kubernetes keeps them for an hour by default.\n";
  return table(
    [
      { title: "LAST SEEN", value: (event: EventObject) => age(timeOf(event), now) },
      {
        title: "TYPE",
        value: ({ type }) => type ?? "",
        paint: ({ type }, text) => style.health(type === "Warning" ? "problem" : "ok", text),
      },
      { title: "COUNT", value: (event) => String(countOf(event)) },
      { title: "REASON", value: ({ reason }) => reason ?? "" },
      { title: "OBJECT", value: ({ involvedObject }) => objectName(involvedObject) },
      { title: "MESSAGE", value: ({ message }) => message ?? "" },
    ],
    events,
  );
}

function objectName({ kind, namespace, name }: EventObject["involvedObject"]): string {
  return [kind?.toLowerCase(), namespace, name].filter((each) => each !== undefined && each !== "").join("/");
}
