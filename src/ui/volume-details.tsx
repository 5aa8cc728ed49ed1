import type { RefObject } from "preact";
import { age } from "../cli/output/age.ts";
import type { EventView } from "../page/page-state.ts";
import type { VolumeView } from "../topology/topology.ts";
import { EventTable } from "./event-table.tsx";
import { HealthBadge } from "./health-badge.tsx";
import { TopologyTree } from "./topology-tree.tsx";
import { claimOf } from "./volume-columns.tsx";

interface VolumeDetailsProps {
  readonly volume: VolumeView;
  readonly events: readonly EventView[];
  readonly now: string;
  readonly headingRef: RefObject<HTMLHeadingElement | null>;
}

export function VolumeDetails({ volume, events, now, headingRef }: VolumeDetailsProps) {
  const { name, health, problems, attachments } = volume;
  return (
    <>
      <header>
        <h2 tabIndex={-1} ref={headingRef}>
          {name}
        </h2>
        <HealthBadge health={health} />
      </header>
      {problems.length > 0 && (
        <section class="problems" aria-label="Problems">
          <ul>
            {problems.map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
          </ul>
        </section>
      )}
      <dl class="facts">
        {factsOf(volume, now).map(([title, value]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <h3>Topology</h3>
      {attachments.length === 0 && <p class="quiet">No Pod uses the volume.</p>}
      <TopologyTree volume={volume} now={now} key={name} />
      <h3>Events</h3>
      <EventTable events={events} now={now} label={`Events of ${name}`} key={`events-${name}`} />
    </>
  );
}

function factsOf(volume: VolumeView, now: string): readonly (readonly [string, string])[] {
  const { identity, provisioning, storageClass, accessModes, mountOptions, phase, handle, createdAt } = volume;
  const facts: readonly (readonly [string, string])[] = [
    ["Claim", claimOf(volume)],
    ["Phase", phase],
    ["Provisioning", storageClass === "" ? provisioning : `${provisioning}, class ${storageClass}`],
    ["Access modes", accessModes.join(", ")],
    ["Credentials", identity === "driver" ? "of the driver" : identity],
    ["Mount options", mountOptions.join(", ")],
    ["Handle", handle],
    ["Age", age(createdAt, now)],
  ];
  return facts.filter(([, value]) => value !== "");
}
