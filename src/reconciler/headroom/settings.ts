/** Flags → how headroom Pods are made. */

import type { Problems } from "../../runtime/problems.ts";
import type { HeadroomConfig } from "../domain/headroom-pod.ts";
import { pullPolicyFrom } from "../mountpoint-pod-settings.ts";

type HeadroomFlag =
  | "headroom-enabled"
  | "headroom-image"
  | "headroom-image-pull-policy"
  | "mountpoint-headroom-priority-class-name"
  | "mountpoint-preempting-priority-class-name"
  | "mountpoint-priority-class-name"
  | "mountpoint-image";

type Read = (flag: HeadroomFlag) => string | undefined;

/** The driver's own image is needed on the node in any case, so no other has to be pulled. */
export function headroomFrom(given: Read, problems: Problems): HeadroomConfig {
  const enabled = isEnabled(given("headroom-enabled"), problems);
  const priorityClassName = given("mountpoint-headroom-priority-class-name") ?? "";
  if (enabled && priorityClassName === "") {
    problems.add(
      "--mountpoint-headroom-priority-class-name is not set: headroom Pods would push others off their node",
    );
  }
  const image = given("headroom-image");
  return {
    enabled,
    image: image ?? given("mountpoint-image") ?? "",
    imagePullPolicy: pullPolicyFrom("headroom-image-pull-policy", given, problems),
    command: image === undefined ? ["sleep", "infinity"] : [],
    priorityClassName,
  };
}

/** Without headroom there is nothing to take the place of. */
export function preemptingClassFrom(given: Read, { enabled }: HeadroomConfig): string {
  const usual = given("mountpoint-priority-class-name") ?? "";
  return enabled ? (given("mountpoint-preempting-priority-class-name") ?? usual) : usual;
}

function isEnabled(text: string | undefined, problems: Problems): boolean {
  if (text !== undefined && text !== "true" && text !== "false") {
    problems.add(`--headroom-enabled is neither true nor false: ${text}`);
  }
  return text === "true";
}
