import type { RolloutConfig } from "./settings.ts";

/** Nothing is rolled out. */
export const manualRollout: RolloutConfig = {
  strategy: "manual",
  isPaused: false,
  retry: "",
  maxPerNode: 1,
  maxParallel: 10,
  maxFailures: 1,
  allowsGap: false,
  window: undefined,
};
