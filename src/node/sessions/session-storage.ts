/**
 * Sessions outlive the node plugin in the tmpfs of its records, so that a mount-s3 that dies while STS is away comes back with them. They
 * contain credentials and must never be on a disk; tokens are not among them.
 */
import { createHash } from "node:crypto";
import type { Identity } from "../../core/identity.ts";
import { Secret } from "../../runtime/secret.ts";
import type { Session } from "../../s3/sts/session.ts";
import type { PodAccess } from "../credentials/access.ts";
import type { RecordStorage } from "../records/mount-records.ts";

export interface StoredSession {
  readonly identity: Identity;
  readonly access: PodAccess;
  readonly session: Session;
}

const prefix = "session-";

export class SessionStorage {
  readonly #storage: RecordStorage;

  constructor(storage: RecordStorage) {
    this.#storage = storage;
  }

  all(): readonly StoredSession[] {
    const texts = [...this.#storage.all()].filter(([name]) => name.startsWith(prefix));
    return texts.flatMap(([, text]) => storedIn(text) ?? []);
  }

  write({ identity, access, session }: StoredSession): void {
    const { accessKeyId, secretAccessKey, sessionToken } = session.credentials;
    const keys = [accessKeyId.reveal(), secretAccessKey.reveal(), sessionToken?.reveal()];
    const { endsAtMs, renewAtMs } = session;
    this.#storage.write(fileOf(identity), JSON.stringify({ identity, access, keys, endsAtMs, renewAtMs }));
  }

  remove(identity: Identity): void {
    this.#storage.remove(fileOf(identity));
  }
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
    const { identity, access, keys, endsAtMs, renewAtMs } = JSON.parse(text) as Stored;
    const [accessKeyId, secretAccessKey, sessionToken] = keys;
    if (![...keys, identity].every((value) => typeof value === "string") || keys.length !== 3) return undefined;
    const credentials = {
      accessKeyId: new Secret(accessKeyId),
      secretAccessKey: new Secret(secretAccessKey),
      sessionToken: new Secret(sessionToken),
    };
    return { identity, access, session: { credentials, endsAtMs, renewAtMs } };
  } catch {
    return undefined; // without the error: it quotes the text
  }
}
