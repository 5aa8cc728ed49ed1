/** Colours, only where a person looks. */
import type { Health } from "../../topology/topology.ts";

export interface Style {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly health: (health: Health, text: string) => string;
}

const plain: Style = { bold: (text) => text, dim: (text) => text, health: (_, text) => text };

const coloured: Style = {
  bold: (text) => `\u001B[1m${text}\u001B[22m`,
  dim: (text) => `\u001B[2m${text}\u001B[22m`,
  health: (health, text) => `\u001B[${colours[health]}m${text}\u001B[39m`,
};

const colours: Readonly<Record<Health, number>> = { ok: 32, waiting: 33, problem: 31, idle: 90 };

/** NO_COLOR as on no-color.org: any value but the empty one turns colours off. */
export function styleFor(isTerminal: boolean, noColor: string | undefined): Style {
  return isTerminal && (noColor ?? "") === "" ? coloured : plain;
}
