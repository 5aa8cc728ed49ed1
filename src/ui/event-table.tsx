import { age } from "../cli/output/age.ts";
import type { EventView } from "../page/page-state.ts";
import { Limited } from "./limited-list.tsx";

interface EventTableProps {
  readonly events: readonly EventView[];
  readonly now: string;
  readonly label: string;
}

const mostEvents = 50;

export function EventTable({ events, now, label }: EventTableProps) {
  if (events.length === 0) return <p class="quiet">No events. Kubernetes keeps them for an hour by default.</p>;
  return (
    <Limited items={events} limit={mostEvents} what="events">
      {(shown) => (
        <table class="plain events" aria-label={label}>
          <thead>
            <tr>
              <th scope="col">Last seen</th>
              <th scope="col">Reason</th>
              <th scope="col">Object</th>
              <th scope="col">Message</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((event) => (
              <EventRow key={event.uid} event={event} now={now} />
            ))}
          </tbody>
        </table>
      )}
    </Limited>
  );
}

function EventRow({ event, now }: { readonly event: EventView; readonly now: string }) {
  const { time, isWarning, reason, kind, namespace, name, message, count } = event;
  return (
    <tr class={isWarning ? "warning" : ""}>
      <td>
        <time dateTime={time} title={time}>
          {age(time, now)}
        </time>
        {count > 1 && <span class="quiet"> ×{count}</span>}
      </td>
      <td>
        {isWarning && <span class="hidden">Warning: </span>}
        {reason}
      </td>
      <td>
        <span class="quiet">{kind}</span> {namespace === "" ? name : `${namespace}/${name}`}
      </td>
      <td>{message}</td>
    </tr>
  );
}
