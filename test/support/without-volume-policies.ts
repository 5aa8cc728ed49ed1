/** For tests that see the programs refuse a volume that the API server would not let them make. */
import { vi } from "vitest";
import type { Cluster } from "./cluster.ts";
import { installedWith } from "./installed-with.ts";
import { long } from "./stage.ts";
import { trialVolume, tried } from "./volume-policies.ts";

/** The driver without the chart's rules for volumes until the end of the scope. */
export async function withoutVolumePolicies(cluster: Cluster): Promise<AsyncDisposable> {
  const installed = await installedWith(cluster, ["admissionPolicies.volumes=false"]);
  // The API server drops policies in its own time.
  const refusedBefore = JSON.stringify(trialVolume({ attributes: { bucketName: "" } }));
  await vi.waitFor(async () => {
    const answer = await tried(cluster, refusedBefore);
    if (answer !== "accepted") throw new Error(answer);
  }, long);
  return installed;
}
