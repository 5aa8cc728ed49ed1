/** What `kubectl s3 doctor` has found. */
import type { FindingId } from "./finding-ids.ts";
import type { Installation } from "./installation.ts";

export interface Finding {
  readonly id: FindingId;
  /** problem: something does not work. warning: something will not work, or works only by luck. */
  readonly severity: "problem" | "warning";
  /** What is wrong, with the name of the object. */
  readonly summary: string;
  /** What was seen. */
  readonly evidence: string;
  /** A command, or what to change. */
  readonly fix: string;
}

export type Check = (installation: Installation) => readonly Finding[];
