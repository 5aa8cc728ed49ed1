import { useMemo } from "preact/hooks";
import { ListAndDetails } from "./list-and-details.tsx";
import { volumesFound } from "./search.ts";
import { useNow } from "./use-now.ts";
import type { ViewProps } from "./view-props.ts";
import { volumeColumns } from "./volume-columns.tsx";
import { VolumeDetails } from "./volume-details.tsx";

export function VolumesView({ state, search, route, go }: ViewProps) {
  const now = useNow();
  const rows = useMemo(() => volumesFound(state.volumes, search), [state.volumes, search]);
  const volume = state.volumes.find(({ name }) => name === route.selected);
  const events = state.events.filter(({ volumes }) => volumes.includes(route.selected));
  return (
    <ListAndDetails
      what="volumes"
      rows={rows}
      total={state.volumes.length}
      columns={volumeColumns(now)}
      keyOf={({ name }) => name}
      selected={route.selected}
      onSelect={(selected) => go({ view: "volumes", selected })}
      details={(heading) =>
        volume === undefined ? (
          <p class="quiet">{absence(route.selected, state.volumes.length)}</p>
        ) : (
          <VolumeDetails volume={volume} events={events} now={now} headingRef={heading} />
        )
      }
    />
  );
}

function absence(selected: string, total: number): string {
  if (total === 0) return "There are no volumes of this driver.";
  return selected === "" ? "Select a volume to see its topology and events." : `${selected} does not exist any more.`;
}
