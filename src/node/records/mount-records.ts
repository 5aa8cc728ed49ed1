/**
 * What a mount needs to be made again without kubelet's help, and who uses it. Kept in this process and in a directory in
 * memory, so that a restarted node plugin knows it, too. Keys are in it: it must never be on a disk.
 */
import type { MountRequest } from "../../core/mount-request.ts";
import type { PodName, PodUid, PvName, VolumeId } from "../../core/names.ts";
import type { PidNamespace } from "../../core/pid-namespace.ts";
import { Secret } from "../../runtime/secret.ts";
import type { Credentials } from "../../s3/credentials.ts";

export interface MountRecord {
  readonly persistentVolume: PvName;
  readonly volumeId: VolumeId;
  /** The one that came first: files of 2.x are named after it. */
  readonly workload: PodUid;
  /** From where mount(2) was called. */
  readonly pidNamespace: PidNamespace;
  readonly request: MountRequest;
  /** The volume's own keys; undefined: those of the driver. */
  readonly keys: Credentials | undefined;
}

/** A workload as events name it. */
export interface User {
  readonly namespace: string;
  readonly name: string;
  readonly uid: PodUid;
}

/** Where texts outlive the process. */
export interface RecordStorage {
  all(): ReadonlyMap<string, string>;
  write(name: string, text: string): void;
  remove(name: string): void;
}

interface Entry {
  readonly record: MountRecord;
  /** By target. */
  readonly users: Readonly<Record<string, User>>;
}

export class MountRecords {
  readonly #entries = new Map<PodName, Entry>();
  readonly #storage: RecordStorage;
  /** To be forgotten with their last user: whoever takes over from them needs to know. */
  readonly #ended = new Set<PodName>();

  constructor(storage: RecordStorage) {
    this.#storage = storage;
    for (const [name, text] of storage.all()) {
      const entry = entryIn(text);
      if (entry !== undefined) this.#entries.set(name as PodName, entry);
    }
  }

  set(name: PodName, record: MountRecord): void {
    this.#put(name, { record, users: this.#entries.get(name)?.users ?? {} });
  }

  get(name: PodName): MountRecord | undefined {
    return this.#entries.get(name)?.record;
  }

  /** Kubelet brought these keys for a mount that serves already. */
  keepKeys(name: PodName, keys: Credentials | undefined): void {
    const entry = this.#entries.get(name);
    if (entry === undefined || hasSameKeys(entry.record.keys, keys)) return;
    this.#put(name, { ...entry, record: { ...entry.record, keys } });
  }

  /** From now on this workload uses the mount of this Mountpoint Pod, and of no other, at its target. */
  addUser(name: PodName, target: string, user: User): void {
    if (this.holderOf(target) === name) return;
    // Without an entry nobody could say what its mount needs: what is known of the workload stays where it is.
    if (!this.#entries.has(name)) return;
    this.dropUser(target);
    const entry = this.#entries.get(name);
    if (entry !== undefined) this.#put(name, { ...entry, users: { ...entry.users, [target]: user } });
  }

  dropUser(target: string): void {
    const name = this.holderOf(target);
    const entry = name && this.#entries.get(name);
    if (entry === undefined) return;
    const { [target]: _gone, ...users } = entry.users;
    this.#put(name as PodName, { ...entry, users });
    if (this.#ended.has(name as PodName)) this.remove(name as PodName);
  }

  /** Its workload is served by another Mountpoint Pod from now on. */
  moveUser(target: string, to: PodName): void {
    const user = this.userAt(target);
    if (user !== undefined) this.addUser(to, target, user);
  }

  holderOf(target: string): PodName | undefined {
    return [...this.#entries].find(([, { users }]) => Object.hasOwn(users, target))?.[0];
  }

  /** Every workload's target, and the Mountpoint Pod whose mount it uses. */
  get uses(): readonly { readonly target: string; readonly holder: PodName }[] {
    return [...this.#entries].flatMap(([holder, { users }]) =>
      Object.keys(users).map((target) => ({ target, holder })),
    );
  }

  userAt(target: string): User | undefined {
    const name = this.holderOf(target);
    return name && this.#entries.get(name)?.users[target];
  }

  /** Its source is gone for good. */
  remove(name: PodName): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    if (Object.keys(entry.users).length > 0) {
      this.#ended.add(name);
      return;
    }
    this.#ended.delete(name);
    this.#entries.delete(name);
    this.#storage.remove(name);
  }

  get mountpointPods(): readonly PodName[] {
    return [...this.#entries.keys()];
  }

  #put(name: PodName, entry: Entry): void {
    this.#entries.set(name, entry);
    this.#storage.write(name, textOf(entry));
  }
}

interface Stored {
  readonly record: Omit<MountRecord, "keys"> & { readonly keys: Readonly<Record<string, string>> | null };
  readonly users: Entry["users"];
}

function textOf({ record, users }: Entry): string {
  const { keys } = record;
  const revealed = keys && {
    accessKeyId: keys.accessKeyId.reveal(),
    secretAccessKey: keys.secretAccessKey.reveal(),
    ...(keys.sessionToken === undefined ? {} : { sessionToken: keys.sessionToken.reveal() }),
  };
  return JSON.stringify({ record: { ...record, keys: revealed ?? null }, users } satisfies Stored);
}

/** undefined for what another version wrote differently: kubelet's next call brings it again. */
function entryIn(text: string): Entry | undefined {
  try {
    const { record, users } = JSON.parse(text) as Stored;
    const { accessKeyId, secretAccessKey, sessionToken } = record.keys ?? {};
    const keys =
      accessKeyId === undefined || secretAccessKey === undefined
        ? undefined
        : {
            accessKeyId: new Secret(accessKeyId),
            secretAccessKey: new Secret(secretAccessKey),
            sessionToken: sessionToken === undefined ? undefined : new Secret(sessionToken),
          };
    return { record: { ...record, keys }, users };
  } catch {
    return undefined; // without the error: it quotes the text
  }
}

function hasSameKeys(a: Credentials | undefined, b: Credentials | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const fields = ["accessKeyId", "secretAccessKey", "sessionToken"] as const;
  return fields.every((field) => a[field]?.reveal() === b[field]?.reveal());
}
