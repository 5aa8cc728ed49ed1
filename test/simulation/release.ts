/** What `helm upgrade` changes while everything runs: the settings with which the replicas of the reconciler start. */
import * as fc from "fast-check";
import type { MountpointPodConfig } from "../../src/reconciler/domain/mountpoint-pod/mountpoint-pod.ts";
import { manualRollout } from "../../src/reconciler/rollout/rollout.fixture.ts";
import type { RolloutConfig } from "../../src/reconciler/rollout/settings.ts";
import type { WarmConfig } from "../../src/reconciler/warm/settings.ts";

export const mountpointNamespace = "mount-s3";
export const releaseNamespace = "driver";
/** With it every Mountpoint Pod that waits for a volume ends. */
export const warmOwner = "warm-owner";

export interface Release {
  readonly driver: Driver;
  readonly warmPerNode: number;
  readonly rollout: RolloutConfig;
}

/** broken: kubelet cannot pull its image. */
type Driver = "first" | "otherImage" | "otherVersion" | "broken";

const images: Readonly<Record<Driver, { readonly image: string; readonly driverVersion: string }>> = {
  first: { image: "driver", driverVersion: "3.0.0" },
  otherImage: { image: "mirror/driver", driverVersion: "3.0.0" },
  otherVersion: { image: "driver:next", driverVersion: "3.0.1" },
  broken: { image: "driver:broken", driverVersion: "3.0.1" },
};

export const brokenImage = images.broken.image;

export const firstRelease: Release = { driver: "first", warmPerNode: 0, rollout: manualRollout };

const rollouts: fc.Arbitrary<RolloutConfig> = fc.record({
  ...{ allowsGap: fc.constant(false), window: fc.constant(undefined) },
  strategy: fc.constantFrom("rolling" as const, "rolling" as const, "rolling" as const, "manual" as const),
  isPaused: fc.constantFrom(false, false, false, true),
  retry: fc.constantFrom("", "", "again"),
  maxPerNode: fc.integer({ min: 1, max: 2 }),
  maxParallel: fc.integer({ min: 1, max: 3 }),
  maxFailures: fc.integer({ min: 1, max: 2 }),
});

export const releases: fc.Arbitrary<Release> = fc.record({
  driver: fc.constantFrom("first" as const, "otherImage" as const, "otherVersion" as const, "broken" as const),
  warmPerNode: fc.constantFrom(0, 1, 1, 2),
  rollout: rollouts,
});

export function mountpointPodsOf({ driver }: Release): MountpointPodConfig {
  return {
    ...{ namespace: mountpointNamespace, imagePullPolicy: "Never", command: "mounter" },
    ...images[driver],
    ...{ priorityClassName: "", preemptingPriorityClassName: "" },
    mountpointVersion: "1.0.0",
    resources: { requests: { cpu: "10m", memory: "32Mi" }, limits: {} },
    // As the chart has it: a node that is cordoned gets the Mountpoint Pods of its workloads.
    tolerations: [{ operator: "Exists" }],
    imagePullSecrets: [],
    extra: { labels: {}, annotations: {} },
    ca: undefined,
    userBy: "driver",
  };
}

export function warmOf({ warmPerNode }: Release): WarmConfig {
  return { perNode: warmPerNode, owner: warmOwner, releaseNamespace };
}
