/** One holder at a time across processes; a lock whose holder died is taken over. */
import { randomUUID } from "node:crypto";
import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { isErrno } from "../src/runtime/errno.ts";
import { isAlive, type ProcessId, processId } from "./process-id.ts";

const retryMs = 200;

export async function lockFile(signal: AbortSignal, path: string): Promise<AsyncDisposable> {
  const mine = JSON.stringify(processId(process.pid));
  for (;;) {
    if (await createOnce(path, mine)) return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
    if (!(await isHeld(path))) await discard(path);
    else await delay(retryMs, undefined, { signal });
  }
}

/** link(2) refuses an existing name and shows the content at once, so a lock is never seen half written. */
async function createOnce(path: string, content: string): Promise<boolean> {
  // Of this attempt alone: another one of the same process would take it away.
  const draft = `${path}.${randomUUID()}.draft`;
  await writeFile(draft, content);
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (isErrno(error, "EEXIST")) return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function isHeld(path: string): Promise<boolean> {
  try {
    return isAlive(JSON.parse(await readFile(path, "utf8")) as ProcessId);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return false;
    throw error;
  }
}

/** Renaming first makes sure that of two who see a dead holder only one removes the file. */
async function discard(path: string): Promise<void> {
  const aside = `${path}.${process.pid}`;
  try {
    await rename(path, aside);
    await rm(aside, { force: true });
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
  }
}
