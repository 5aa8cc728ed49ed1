import { mounterCommand } from "../../../core/names.ts";
import { defaultResources } from "../../../core/volume/container-resources.ts";
import type { MountpointPodConfig } from "./mountpoint-pod.ts";

/** An installation with nothing unusual. */
export const installation: MountpointPodConfig = {
  namespace: "mount-s3",
  image: "driver:3.0.0",
  imagePullPolicy: "IfNotPresent",
  command: mounterCommand,
  priorityClassName: "mount-s3-critical",
  preemptingPriorityClassName: "mount-s3-preempting",
  driverVersion: "3.0.0",
  mountpointVersion: "1.24.0",
  resources: defaultResources,
  tolerations: [{ operator: "Exists" }],
  imagePullSecrets: [],
  extra: { labels: {}, annotations: {} },
  ca: undefined,
  userBy: "driver",
};
