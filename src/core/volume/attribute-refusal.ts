import { DriverError } from "../errors.ts";

/** A volume attribute that cannot be used: the message names it, the hint says what to write instead. */
export function attributeRefusal(attribute: string, problem: string, fix: string): DriverError {
  return new DriverError("invalid", `volumeAttributes.${attribute} ${problem}`, {
    hint: `In the PersistentVolume: ${fix}.`,
  });
}

/** Bounded: it goes into an event. */
export function quoted(value: string): string {
  const shown = value.length > 64 ? `${value.slice(0, 64)}…` : value;
  return JSON.stringify(shown);
}
