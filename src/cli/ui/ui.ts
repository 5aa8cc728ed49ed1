/** `kubectl s3 ui`: the topology as a page in the browser, with the rights of the user. */
import { randomBytes } from "node:crypto";
import { Feed } from "../../page/feed.ts";
import { bundledPage, type PageFiles } from "../../page/page-files.ts";
import type { Session } from "../program.ts";
import { UserError } from "../user-error.ts";
import { followAsUser } from "./follow-as-user.ts";
import { startPageServer } from "./page-server.ts";

export async function uiCommand(session: Session, options: { port?: string }): Promise<void> {
  const { signal, api, terminal } = session;
  const feed = new Feed();
  const token = randomBytes(24).toString("base64url");
  const server = await startPageServer({ files: pageInPlugin(), feed, token, port: portOf(options.port ?? "0") });
  try {
    terminal.print(`${server.address}\n`);
    terminal.printError("Open this address in a browser on this machine. Ctrl-C ends the page.\n");
    await followAsUser(signal, api, session.options, {
      onState: (state) => feed.setState(state),
      onConnection: (problem) => feed.setConnection(problem),
      isWatched: () => feed.isWatched,
      onRates: (rates) => feed.setRates(rates),
    });
  } finally {
    await server.close();
  }
}

function pageInPlugin(): PageFiles {
  const files = bundledPage();
  if (files !== undefined) return files;
  throw new UserError("the page is only in the bundled plugin", "run the bundle instead of its sources");
}

/** Without the privileged ports: a browser leaves 80 out of the Host header. */
function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port === 0 || (port >= 1024 && port <= 65_535)) return port;
  throw new UserError(`--port ${text} is not a port`, "use a number from 1024 to 65535, or 0 for any free port");
}
