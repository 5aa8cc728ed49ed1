/**
 * Sessions outlive the node plugin in the tmpfs of its records, so that a mount-s3 that dies while STS is away comes back with them. They
 * contain credentials and must never be on a disk; tokens are not among them.
 */
import { createHash } from "node:crypto";
import type { Identity } from "../../core/identity.ts";
import { isAt } from "../../core/stores/address.ts";
import type { Store, Stores } from "../../core/stores/store.ts";
import { Secret } from "../../runtime/secret.ts";
import type { Session } from "../../s3/sts/session.ts";
import type { PodAccess } from "../credentials/access.ts";
import type { RecordStorage } from "../records/mount-records.ts";
import type { AccountRole } from "./session-entry.ts";

export interface StoredSession {
  readonly identity: Identity;
  readonly access: PodAccess;
  readonly session: Session;
  readonly issuedBy: IssuedBy;
  /** undefined: the service account was not read, because the volume names the role. */
  readonly accountRole: AccountRole | undefined;
}

/** The addresses of a store and its STS. Sessions are good there and nowhere else, and the name may be given to another store. */
export interface IssuedBy {
  readonly endpointUrl: string;
  readonly stsEndpointUrl: string;
}

/** undefined: the store has no STS. */
export function issuerOf({ endpointUrl, sts }: Store): IssuedBy | undefined {
  return sts && { endpointUrl, stsEndpointUrl: sts.endpointUrl };
}

const prefix = "session-";

export class SessionStorage {
  readonly #storage: RecordStorage;

  constructor(storage: RecordStorage) {
    this.#storage = storage;
  }

  /** The sessions that may be used with these stores. Removes all others: the next token starts a new one. */
  usable(stores: Stores, nowMs: number): readonly StoredSession[] {
    return [...this.#storage.all()].flatMap(([name, text]) => {
      if (!name.startsWith(prefix)) return [];
      const stored = storedIn(text);
      if (stored !== undefined && isUsable(stored, stores, nowMs)) return [stored];
      this.#storage.remove(name);
      return [];
    });
  }

  write({ identity, access, session, issuedBy, accountRole }: StoredSession): void {
    const { accessKeyId, secretAccessKey, sessionToken } = session.credentials;
    const keys = [accessKeyId.reveal(), secretAccessKey.reveal(), sessionToken?.reveal()];
    const { endsAtMs, renewAtMs } = session;
    const stored = { identity, access, keys, endsAtMs, renewAtMs, issuedBy, accountRole };
    this.#storage.write(fileOf(identity), JSON.stringify(stored));
  }

  remove(identity: Identity): void {
    this.#storage.remove(fileOf(identity));
  }
}

/**
 * A session that has more time left than a new one would have was timed by another clock: some container runtimes show a container an uptime
 * of its own.
 */
function isUsable({ access, session, issuedBy }: StoredSession, stores: Stores, nowMs: number): boolean {
  const store = stores.get(access.store);
  if (store?.sts === undefined) return false;
  const isSameStore = isAt(store, issuedBy.endpointUrl) && store.sts.endpointUrl === issuedBy.stsEndpointUrl;
  return isSameStore && session.endsAtMs - nowMs <= 1000 * store.sts.sessionSeconds;
}

/** An identity has characters that no file name may have. */
function fileOf(identity: Identity): string {
  return `${prefix}${createHash("sha256").update(identity).digest("hex").slice(0, 32)}`;
}

interface Stored extends Omit<StoredSession, "session"> {
  readonly keys: readonly [string, string, string];
  readonly endsAtMs: number;
  readonly renewAtMs: number;
}

/** undefined for a text of another version: a token makes a new session. */
function storedIn(text: string): StoredSession | undefined {
  try {
    const { keys, endsAtMs, renewAtMs, ...stored } = JSON.parse(text) as Stored;
    const { identity, access, issuedBy } = stored;
    const [accessKeyId, secretAccessKey, sessionToken] = keys;
    const texts = [...keys, identity, access.store, issuedBy.endpointUrl, issuedBy.stsEndpointUrl];
    if (!texts.every((value) => typeof value === "string") || keys.length !== 3) return undefined;
    if (![endsAtMs, renewAtMs].every(Number.isFinite)) return undefined;
    const credentials = {
      accessKeyId: new Secret(accessKeyId),
      secretAccessKey: new Secret(secretAccessKey),
      sessionToken: new Secret(sessionToken),
    };
    return { ...stored, session: { credentials, endsAtMs, renewAtMs } };
  } catch {
    return undefined; // without the error: it quotes the text
  }
}
