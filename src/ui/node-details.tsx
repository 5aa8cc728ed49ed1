import type { RefObject } from "preact";
import type { EventView } from "../page/page-state.ts";
import { EventTable } from "./event-table.tsx";
import { HealthBadge } from "./health-badge.tsx";
import { Limited } from "./limited-list.tsx";
import type { Mount, NodeView } from "./nodes.ts";
import { mountpointPodFacts } from "./pod-facts.ts";
import { fragmentOf } from "./route.ts";
import { Traffic } from "./traffic.tsx";

interface NodeDetailsProps {
  readonly node: NodeView;
  readonly events: readonly EventView[];
  readonly now: string;
  readonly headingRef: RefObject<HTMLHeadingElement | null>;
}

const mostMounts = 100;

export function NodeDetails({ node, events, now, headingRef }: NodeDetailsProps) {
  return (
    <>
      <header>
        <h2 tabIndex={-1} ref={headingRef}>
          {node.name}
        </h2>
        <HealthBadge health={node.health} />
      </header>
      <h3>Mountpoint Pods</h3>
      <Limited items={node.mounts} limit={mostMounts} what="Mountpoint Pods" key={node.name}>
        {(shown) => (
          <table class="plain mounts" aria-label={`Mountpoint Pods on ${node.name}`}>
            <thead>
              <tr>
                <th scope="col">Health</th>
                <th scope="col">Volume and Mountpoint Pod</th>
                <th scope="col">Workloads</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((mount) => (
                <MountRow key={mount.pod.name} mount={mount} now={now} />
              ))}
            </tbody>
          </table>
        )}
      </Limited>
      <h3>Events</h3>
      <EventTable events={events} now={now} label={`Events of ${node.name}`} key={`events-${node.name}`} />
    </>
  );
}

function MountRow({ mount: { volume, pod }, now }: { readonly mount: Mount; readonly now: string }) {
  return (
    <tr>
      <td>
        <HealthBadge health={pod.health} />
      </td>
      <td>
        <a href={fragmentOf({ view: "volumes", selected: volume.name })}>{volume.name}</a>
        <p class="quiet cut" title={pod.name}>
          {pod.name}
        </p>
        <p class="quiet">{mountpointPodFacts(pod, now).join(" · ")}</p>
        <Traffic pod={pod} />
        {pod.problem !== "" && <p class="problem-text">{pod.problem}</p>}
      </td>
      <td>
        {pod.workloads.map(({ uid, namespace, name, phase }) => (
          <p key={uid}>
            {name === undefined ? `UID ${uid}` : `${namespace}/${name}`} <span class="quiet">{phase}</span>
          </p>
        ))}
      </td>
    </tr>
  );
}
