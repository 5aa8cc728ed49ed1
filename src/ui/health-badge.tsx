import type { Health } from "../topology/topology.ts";
import { healthWords } from "./announcement.ts";

/** A sign besides the colour, for those who do not see colours. */
const signs: Readonly<Record<Health, string>> = { problem: "!", waiting: "…", ok: "✓", idle: "–" };

export function HealthBadge({ health }: { readonly health: Health }) {
  return (
    <span class={`health ${health}`}>
      <span class="sign" aria-hidden="true">
        {signs[health]}
      </span>
      {healthWords[health]}
    </span>
  );
}
