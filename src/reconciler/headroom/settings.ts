/** The settings of headroom Pods. */
import { text, trueOrFalse } from "../../runtime/settings/kinds.ts";
import type { Settings, ValuesOf, ValuesToCheck } from "../../runtime/settings/settings.ts";
import type { HeadroomConfig } from "../domain/mountpoint-pod/headroom-pod.ts";
import { pullPolicy } from "../mountpoint-pod-settings.ts";

export const headroomSettings = {
  headroomEnabled: {
    flag: "headroom-enabled",
    variable: "MOUNTPOINT_HEADROOM_ENABLED",
    kind: trueOrFalse,
    default: false,
  },
  headroomImage: { flag: "headroom-image", variable: "MOUNTPOINT_HEADROOM_IMAGE", kind: text },
  headroomImagePullPolicy: {
    flag: "headroom-image-pull-policy",
    variable: "MOUNTPOINT_HEADROOM_IMAGE_PULL_POLICY",
    kind: pullPolicy,
    default: "IfNotPresent",
  },
  headroomPriorityClassName: {
    flag: "mountpoint-headroom-priority-class-name",
    variable: "MOUNTPOINT_HEADROOM_PRIORITY_CLASS_NAME",
    kind: text,
    default: "",
  },
  preemptingPriorityClassName: {
    flag: "mountpoint-preempting-priority-class-name",
    variable: "MOUNTPOINT_PREEMPTING_PRIORITY_CLASS_NAME",
    kind: text,
  },
} as const satisfies Settings;

/** A priority class is needed: headroom Pods of the default priority would push others off their node. */
export function checkHeadroom(values: ValuesToCheck<typeof headroomSettings>): void {
  if (!values.headroomEnabled || values.headroomPriorityClassName !== "") return;
  throw new Error(
    "--mountpoint-headroom-priority-class-name must be set with --headroom-enabled=true: " +
      "headroom Pods would push others off their node",
  );
}

/** The driver's own image is needed on the node in any case, so no other has to be pulled. */
export function headroomFrom(values: ValuesOf<typeof headroomSettings>, driverImage: string): HeadroomConfig {
  return {
    enabled: values.headroomEnabled,
    image: values.headroomImage ?? driverImage,
    imagePullPolicy: values.headroomImagePullPolicy,
    command: values.headroomImage === undefined ? ["sleep", "infinity"] : [],
    priorityClassName: values.headroomPriorityClassName,
  };
}

/** Without headroom there is no Pod to preempt, so Mountpoint Pods keep their usual class. */
export function preemptingClassFrom(values: ValuesOf<typeof headroomSettings>, usual: string): string {
  return values.headroomEnabled ? (values.preemptingPriorityClassName ?? usual) : usual;
}
