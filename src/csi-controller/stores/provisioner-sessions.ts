/**
 * Temporary credentials for the controller's own service account, at stores with `sts.provisioner` (ID-1). A session is renewed when it is
 * needed and five twelfths of its life are left: a call has a deadline, which comes long before that.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DriverError } from "../../core/errors.ts";
import { type Store, type StoreName, valueOfStore } from "../../core/stores/store.ts";
import type { Call } from "../../runtime/call.ts";
import { orAborted } from "../../runtime/or-aborted.ts";
import { Secret } from "../../runtime/secret.ts";
import type { Credentials } from "../../s3/credentials.ts";
import { hasEnded, isDue, type Session, sessionFrom } from "../../s3/sts/session.ts";
import type { StsClient } from "../../s3/sts/sts-client.ts";

export interface ProvisionerSessionParts {
  readonly sts: Pick<StsClient, "session">;
  /** kubelet keeps a token in it for each such store, with the audience of its STS; the file has the name of the store. */
  readonly tokenDir: string;
  /** The clock of the boot, which goes on while the machine is suspended. */
  readonly nowMs: () => number;
}

/** Shown in the log of the store. */
const sessionName = "s3-csi-controller";

export class ProvisionerSessions {
  readonly #parts: ProvisionerSessionParts;
  readonly #sessions = new Map<StoreName, Session>();
  readonly #exchanges = new Map<StoreName, Promise<Session>>();

  constructor(parts: ProvisionerSessionParts) {
    this.#parts = parts;
  }

  /** Credentials with at least five twelfths of their life left, unless STS is away. Rejects with the refusal of STS if there are none. */
  async credentials(call: Call, store: Store): Promise<Credentials> {
    const { nowMs } = this.#parts;
    const known = this.#sessions.get(store.name);
    if (known !== undefined && !isDue(known, nowMs())) return known.credentials;
    try {
      return (await orAborted(call, this.#renewed(call, store))).credentials;
    } catch (error) {
      if (call.signal.aborted || known === undefined || hasEnded(known, nowMs())) throw error;
      call.log.info("a session was not renewed; its credentials still work", { store: store.name, error });
      return known.credentials;
    }
  }

  /** One request for each store at a time. It goes on without the caller that began it: others may wait for it, too. */
  #renewed({ log }: Call, store: Store): Promise<Session> {
    const running = this.#exchanges.get(store.name);
    if (running !== undefined) return running;
    const detached = { log, signal: new AbortController().signal };
    const exchange = this.#exchange(detached, store).finally(() => this.#exchanges.delete(store.name));
    this.#exchanges.set(store.name, exchange);
    return exchange;
  }

  async #exchange(call: Call, store: Store): Promise<Session> {
    const { sts, tokenDir, nowMs } = this.#parts;
    const token = await tokenFor(store, tokenDir);
    const role = store.sts?.provisioner?.roleArn;
    const roleSetting = `chart value ${valueOfStore(store.name)}.sts.provisioner.roleArn`;
    const answer = await sts.session(call, { store, token, role, roleSetting, sessionName });
    const mostMs = 1000 * (store.sts?.sessionSeconds ?? 0);
    const session = sessionFrom(answer, { nowMs: nowMs(), mostMs, chance: Math.random() });
    this.#sessions.set(store.name, session);
    call.log.info("a session was started", { store: store.name, lifeSeconds: Math.round(answer.lifeMs / 1000) });
    return session;
  }
}

/** Read for every exchange: kubelet replaces the file when four fifths of the token's life are over. */
async function tokenFor({ name }: Store, tokenDir: string): Promise<Secret> {
  const file = join(tokenDir, name);
  const hint = `The chart mounts it with the chart value ${valueOfStore(name)}.sts.provisioner.enabled: install the chart of this version.`;
  const problem = `the token of the controller's service account for store ${name} cannot be read`;
  try {
    const text = (await readFile(file, "utf8")).trim();
    if (text !== "") return new Secret(text);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    throw new DriverError("notReady", `${problem}: ${code} ${file}`, { cause: error, hint });
  }
  throw new DriverError("notReady", `${problem}: ${file} is empty`, { hint });
}
