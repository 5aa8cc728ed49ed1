/** Where a command prints. */
import type { ScreenSize } from "./fitted.ts";
import { type Style, styleFor } from "./style.ts";

export interface Terminal {
  readonly style: Style;
  readonly isTerminal: boolean;
  /** Of the screen, which may change at any time. */
  readonly size: () => ScreenSize;
  readonly print: (text: string) => void;
  readonly printError: (text: string) => void;
  /** Says on a terminal what is being waited for, once that takes longer than a second. */
  readonly progress: <Value>(what: string, work: Promise<Value>) => Promise<Value>;
}

const quietMs = 1000;

export function terminalOn(out: NodeJS.WriteStream, err: NodeJS.WriteStream, noColor: string | undefined): Terminal {
  return {
    style: styleFor(out.isTTY, noColor),
    isTerminal: out.isTTY,
    size: () => ({ columns: out.columns || 80, rows: out.rows || 24 }),
    print: (text) => void out.write(text),
    printError: (text) => void err.write(text),
    progress: async (what, work) => {
      if (!err.isTTY) return await work;
      let isShown = false;
      const timer = setTimeout(() => {
        isShown = true;
        err.write(`${what} …`);
      }, quietMs);
      try {
        return await work;
      } finally {
        clearTimeout(timer);
        // Carriage return and erase the line: what follows begins at its start.
        if (isShown) err.write("\r\u001B[2K");
      }
    },
  };
}
