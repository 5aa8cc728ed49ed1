import { DriverError } from "../../core/errors.ts";

/** The object was created or edited by hand. Only an operator can remove it. */
export function nameTaken(what: string, remedy: string): DriverError {
  return new DriverError("exists", `${what} already exists, but for another node or volume`, {
    hint: remedy,
  });
}
