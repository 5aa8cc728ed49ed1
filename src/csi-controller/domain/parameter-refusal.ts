import { DriverError } from "../../core/errors.ts";

/** A parameter of the StorageClass that cannot be used: the message names it, the hint says what to write instead. */
export function parameterRefusal(parameter: string, problem: string, fix: string): DriverError {
  return new DriverError("invalid", `parameters.${parameter} ${problem}`, { hint: `In the StorageClass: ${fix}.` });
}
