/** The figures at the top; those of the health filter the list. */
import type { Health } from "../topology/topology.ts";
import { healthWords } from "./announcement.ts";
import type { Totals } from "./totals.ts";

interface OverviewProps {
  readonly totals: Totals;
  readonly health: Health | undefined;
  readonly onHealth: (health: Health | undefined) => void;
}

const healths: readonly Health[] = ["problem", "waiting", "ok", "idle"];

export function Overview({ totals, health, onHealth }: OverviewProps) {
  return (
    <section class="overview" aria-label="Overview">
      <div class="filters" role="group" aria-label="Filter by health">
        {healths.map((each) => (
          <button
            key={each}
            type="button"
            class={`figure ${each} ${totals.byHealth[each] === 0 ? "zero" : ""}`}
            aria-pressed={health === each}
            onClick={() => onHealth(health === each ? undefined : each)}
          >
            <b>{number(totals.byHealth[each])}</b> {healthWords[each]}
          </button>
        ))}
      </div>
      <ul class="figures">
        <Figure count={totals.volumes} what="volumes" />
        <Figure count={totals.nodes} what="nodes" />
        <Figure count={totals.mountpointPods} what="Mountpoint Pods" />
        <Figure count={totals.workloads} what="workloads" />
      </ul>
    </section>
  );
}

function Figure({ count, what }: { readonly count: number; readonly what: string }) {
  return (
    <li class="figure">
      <b>{number(count)}</b> {what}
    </li>
  );
}

function number(value: number): string {
  return value.toLocaleString("en");
}
