/**
 * Everything that is needed to mount a source again without a call of kubelet, and the workloads that use it. Records are kept in
 * this process and on a tmpfs, so that a restarted node plugin has them, too. They contain credentials and must never be on a disk.
 */
import { isDeepStrictEqual } from "node:util";
import type { PodName, PodUid, PvName, VolumeId } from "../../core/names.ts";
import { defaultStore } from "../../core/stores/store.ts";
import type { MountRequest } from "../../core/volume/mount-request.ts";
import type { PidNamespace } from "../../core/volume/pid-namespace.ts";
import { Secret } from "../../runtime/secret.ts";
import type { Credentials } from "../../s3/credentials.ts";
import type { Access, SecretAccess } from "../credentials/access.ts";

export interface MountRecord {
  readonly persistentVolume: PvName;
  readonly volumeId: VolumeId;
  /** The workload that mounted first: 2.x names credential files after it. */
  readonly workload: PodUid;
  /** The pid namespace from which mount(2) was called. */
  readonly pidNamespace: PidNamespace;
  readonly request: MountRequest;
  readonly access: Access;
}

/** A workload, as the involved object of events. */
export interface User {
  readonly namespace: string;
  readonly name: string;
  readonly uid: PodUid;
}

/** Storage whose content outlives the process. */
export interface RecordStorage {
  all(): ReadonlyMap<string, string>;
  write(name: string, text: string): void;
  remove(name: string): void;
}

interface Entry {
  readonly record: MountRecord;
  /** Key: target path. */
  readonly users: Readonly<Record<string, User>>;
}

export class MountRecords {
  readonly #entries = new Map<PodName, Entry>();
  readonly #storage: RecordStorage;
  /** Records that are dropped with their last user: until then the successor of the Mountpoint Pod needs them. */
  readonly #removed = new Set<PodName>();

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

  /** Stores the credentials that kubelet sent for a mount that serves already. */
  keepAccess(name: PodName, access: Access): void {
    const entry = this.#entries.get(name);
    if (entry === undefined || isSame(entry.record.access, access)) return;
    this.#put(name, { ...entry, record: { ...entry.record, access } });
  }

  /** The workload at this target uses the mount of this Mountpoint Pod from now on, and of no other. */
  addUser(name: PodName, target: string, user: User): void {
    if (this.holderOf(target) === name) return;
    // A Mountpoint Pod without a record cannot be mounted again: the user keeps the record that it has.
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
    if (this.#removed.has(name as PodName)) this.remove(name as PodName);
  }

  /** Another Mountpoint Pod serves the workload at this target from now on. */
  moveUser(target: string, to: PodName): void {
    const user = this.userAt(target);
    if (user !== undefined) this.addUser(to, target, user);
  }

  holderOf(target: string): PodName | undefined {
    return [...this.#entries].find(([, { users }]) => Object.hasOwn(users, target))?.[0];
  }

  /** Every target, with the Mountpoint Pod whose mount it uses. */
  get uses(): readonly { readonly target: string; readonly holder: PodName }[] {
    return [...this.#entries].flatMap(([holder, { users }]) =>
      Object.keys(users).map((target) => ({ target, holder })),
    );
  }

  userAt(target: string): User | undefined {
    const name = this.holderOf(target);
    return name && this.#entries.get(name)?.users[target];
  }

  /** The source is gone for good. The record is dropped as soon as it has no users. */
  remove(name: PodName): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    if (Object.keys(entry.users).length > 0) {
      this.#removed.add(name);
      return;
    }
    this.#removed.delete(name);
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
  readonly record: Omit<MountRecord, "access"> & {
    readonly access?: Exclude<Access, SecretAccess> | Omit<SecretAccess, "credentials">;
    /** The name is that of earlier versions, which had no `access`: null was the driver's. */
    readonly keys: Readonly<Record<string, string>> | null;
  };
  readonly users: Entry["users"];
}

function textOf({ record: { access, ...record }, users }: Entry): string {
  const stored =
    access.source === "secret"
      ? { access: { source: access.source, store: access.store }, keys: revealed(access.credentials) }
      : { access, keys: null };
  return JSON.stringify({ record: { ...record, ...stored }, users } satisfies Stored);
}

function revealed({ accessKeyId, secretAccessKey, sessionToken }: Credentials): Readonly<Record<string, string>> {
  return {
    accessKeyId: accessKeyId.reveal(),
    secretAccessKey: secretAccessKey.reveal(),
    ...(sessionToken === undefined ? {} : { sessionToken: sessionToken.reveal() }),
  };
}

/** undefined for a text that another version wrote in another format: kubelet's next call brings the data again. */
function entryIn(text: string): Entry | undefined {
  try {
    const { record: stored, users } = JSON.parse(text) as Stored;
    const { keys, access, ...record } = stored;
    return { record: { ...record, access: accessIn(access, keys) }, users };
  } catch {
    return undefined; // without the error: it quotes the text
  }
}

function accessIn(access: Stored["record"]["access"], keys: Stored["record"]["keys"]): Access {
  if (access?.source === "driver" || access?.source === "pod") return access;
  const store = access?.store ?? defaultStore;
  const credentials = keys && credentialsIn(keys);
  return credentials ? { source: "secret", store, credentials } : { source: "driver", store };
}

function credentialsIn(keys: Readonly<Record<string, string>>): Credentials | undefined {
  const { accessKeyId, secretAccessKey, sessionToken } = keys;
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return {
    accessKeyId: new Secret(accessKeyId),
    secretAccessKey: new Secret(secretAccessKey),
    sessionToken: sessionToken === undefined ? undefined : new Secret(sessionToken),
  };
}

function isSame(a: Access, b: Access): boolean {
  if (a.source !== "secret" || b.source !== "secret") return isDeepStrictEqual(a, b);
  const fields = ["accessKeyId", "secretAccessKey", "sessionToken"] as const;
  return (
    a.store === b.store && fields.every((field) => a.credentials[field]?.reveal() === b.credentials[field]?.reveal())
  );
}
