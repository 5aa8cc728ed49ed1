/** The settings of Mountpoint Pods that wait for a volume. */
import { integer, text } from "../../runtime/settings/kinds.ts";
import type { Settings, ValuesOf, ValuesToCheck } from "../../runtime/settings/settings.ts";

export interface WarmConfig {
  /** How many wait on each node that runs the node plugin; 0: none. */
  readonly perNode: number;
  /** A ConfigMap in the namespace of Mountpoint Pods, with which they end. */
  readonly owner: string;
  /** Where the node plugins run. */
  readonly releaseNamespace: string;
}

export const warmSettings = {
  warmPerNode: {
    flag: "warm-per-node",
    variable: "MOUNTPOINT_WARM_PER_NODE",
    kind: integer({ min: 0, max: 64 }),
    default: 0,
  },
  warmOwner: { flag: "warm-owner", variable: "MOUNTPOINT_WARM_OWNER", kind: text },
} as const satisfies Settings;

type Values = typeof warmSettings;

export function checkWarm({ warmPerNode, warmOwner }: ValuesToCheck<Values>): void {
  if (!warmPerNode || warmOwner !== undefined) return;
  throw new Error(
    "--warm-owner must be set with --warm-per-node: Mountpoint Pods that wait would stay after an uninstallation",
  );
}

export function warmFrom(values: ValuesOf<Values>, releaseNamespace: string | undefined): WarmConfig {
  const { warmPerNode, warmOwner = "" } = values;
  // Without the namespace no node plugin is found, so no node gets any.
  return { perNode: warmPerNode, owner: warmOwner, releaseNamespace: releaseNamespace ?? "" };
}
