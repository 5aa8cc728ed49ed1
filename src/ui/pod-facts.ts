import { age } from "../cli/output/age.ts";
import type { MountpointPodView } from "../topology/topology.ts";

/** Pure: the state of a Mountpoint Pod in a few words. */
export function mountpointPodFacts(pod: MountpointPodView, now: string): readonly string[] {
  const { phase, mount, ending, restarts, heals, lastDeath, createdAt } = pod;
  const facts = [
    phase,
    mount === "" ? "" : `mount ${mount}`,
    ending ? "unmounting" : "",
    restarts > 0 ? `${restarts} ${restarts === 1 ? "restart" : "restarts"}` : "",
    heals > 0 ? `healed ${heals === 1 ? "once" : `${heals} times`}, last death ${age(lastDeath, now)} ago` : "",
    createdAt === undefined ? "" : `age ${age(createdAt, now)}`,
  ];
  return facts.filter((each) => each !== "");
}
