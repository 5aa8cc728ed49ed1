/** What tests of headroom share. */
import { headroom } from "../../src/core/names.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import type { Stage } from "./stage.ts";

export interface PriorityClasses extends AsyncDisposable {
  readonly preempting: string;
  readonly headroom: string;
}

/** As the chart makes them, under names of the test's own. */
export async function priorityClasses({ name, cluster }: Stage): Promise<PriorityClasses> {
  const names = { preempting: `${name}-preempting`, headroom: `${name}-headroom` };
  const make = (className: string, value: number, preemptionPolicy: string) =>
    cluster.apply({
      ...{ apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: className } },
      ...{ value, preemptionPolicy, globalDefault: false },
    });
  await make(names.preempting, 999_999_999, "PreemptLowerPriority");
  await make(names.headroom, -10, "Never");
  return {
    ...names,
    [Symbol.asyncDispose]: async () => {
      await cluster.kubectl("delete", "priorityclass", ...Object.values(names));
    },
  };
}

export function headroomFlags({ preempting, headroom: low }: PriorityClasses): readonly string[] {
  return [
    "--headroom-enabled=true",
    `--mountpoint-preempting-priority-class-name=${preempting}`,
    `--mountpoint-headroom-priority-class-name=${low}`,
  ];
}

export function isGated({ spec }: Pod): boolean {
  return (spec.schedulingGates ?? []).some(({ name }) => name === headroom.gate);
}

export function isHeadroomPod({ metadata }: Pod): boolean {
  return metadata.name.startsWith("hr-");
}
