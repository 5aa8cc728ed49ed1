import { DriverError } from "../../core/errors.ts";
import { describeError } from "../../runtime/log.ts";
import type { NodeMounts } from "../mounts/node-mounts.ts";

/**
 * The failure, with a kind that kubelet does not treat as final while something is mounted at the target. After a final error
 * kubelet considers the volume not mounted and never unpublishes it.
 */
export function failureAt({ table }: Pick<NodeMounts, "table">, target: string, failure: Error): Error {
  return table().at(target) === undefined ? failure : uncertain(failure);
}

function uncertain(failure: Error): DriverError {
  if (!(failure instanceof DriverError)) return new DriverError("notReady", describeError(failure), { cause: failure });
  const { kind, message, hint, cause } = failure;
  if (kind === "notReady" || kind === "busy") return failure;
  return new DriverError("notReady", message, hint === undefined ? { cause } : { cause, hint });
}
