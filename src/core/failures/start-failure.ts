/** Why kubelet does not start a container. */

/** `state.waiting` of a container, as kubelet reports it. */
export interface WaitingState {
  readonly reason?: string;
  readonly message?: string;
}

export interface StartFailure {
  /** kubelet's word, such as ImagePullBackOff. */
  readonly reason: string;
  /** kubelet's message; empty: there is none. */
  readonly message: string;
}

/**
 * The first of these containers that kubelet cannot start for a reason that lasts until somebody removes it. A container that has
 * crashed is none of them: kubelet starts it again.
 */
export function startFailure(waiting: readonly (WaitingState | undefined)[]): StartFailure | undefined {
  for (const { reason, message = "" } of waiting.flatMap((state) => state ?? [])) {
    if (reason !== undefined && lastingReasons.has(reason)) return { reason, message };
  }
  return undefined;
}

const lastingReasons: ReadonlySet<string> = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
]);
