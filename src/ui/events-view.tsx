import { EventTable } from "./event-table.tsx";
import { eventsFound } from "./search.ts";
import { useNow } from "./use-now.ts";
import type { ViewProps } from "./view-props.ts";

export function EventsView({ state, search }: ViewProps) {
  const now = useNow();
  const events = eventsFound(state.events, search);
  return (
    <main class="single" tabIndex={0}>
      <h2>Recent events</h2>
      <EventTable events={events} now={now} label="Recent events" />
    </main>
  );
}
