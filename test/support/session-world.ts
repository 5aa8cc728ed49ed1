/** The sessions of a node plugin, with an STS and a service account whose state a test sets. For tests with fake timers. */
import { vi } from "vitest";
import { DriverError } from "../../src/core/errors.ts";
import { podIdentity } from "../../src/core/identity.ts";
import { defaultStore } from "../../src/core/stores/store.ts";
import type { PodAccess } from "../../src/node/credentials/access.ts";
import { noStorage } from "../../src/node/records/tmpfs-storage.ts";
import {
  PodSessions,
  type SessionChange,
  type SessionNeed,
  type SessionParts,
} from "../../src/node/sessions/pod-sessions.ts";
import { SessionStorage } from "../../src/node/sessions/session-storage.ts";
import { Secret } from "../../src/runtime/secret.ts";
import type { SessionRequest, TemporaryCredentials } from "../../src/s3/sts/sts-client.ts";
import { storesWith } from "./fake-credentials.ts";
import { call, credentialsOf } from "./fake-node.ts";
import { tokenOf } from "./service-account-token.ts";

export const minute = 60_000;
export const account = { namespace: "team-a", name: "reader" };
export const access: PodAccess = { source: "pod", store: defaultStore, account, role: undefined };
export const identity = podIdentity(account, undefined, defaultStore);
export const token = (endsAtSeconds?: number) =>
  new Secret(tokenOf("system:serviceaccount:team-a:reader", endsAtSeconds));
export const busy = new DriverError("notReady", "STS is away");
export const refused = new DriverError("denied", "the trust policy does not allow it");

export class SessionWorld implements AsyncDisposable {
  readonly asked: SessionRequest[] = [];
  readonly changes: SessionChange[] = [];
  readonly stored = new Map<string, string>();
  answer: () => Promise<TemporaryCredentials> = async () => this.#nextSession();
  role: string | undefined;
  roleOf = async () => this.role;
  need: SessionNeed = "mountpointPod";
  readonly sessions: PodSessions;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(more: Partial<SessionParts> = {}, stored?: ReadonlyMap<string, string>) {
    for (const [name, text] of stored ?? []) this.stored.set(name, text);
    this.sessions = new PodSessions({
      stores: storesWith({
        default: { sts: { endpointUrl: "http://sts", roleArn: "arn:aws:iam::1:role/of-store", durationSeconds: 900 } },
      }),
      sts: {
        session: (_call, request) => {
          this.asked.push(request);
          return this.answer();
        },
        [Symbol.dispose]: () => undefined,
      },
      roleOf: () => this.roleOf(),
      storage: new SessionStorage({
        ...noStorage,
        all: () => this.stored,
        write: (name, text) => void this.stored.set(name, text),
        remove: (name) => void this.stored.delete(name),
      }),
      nowMs: () => Date.now(),
      sessionLimitMs: 1e12,
      ...more,
    });
    this.sessions.onChange((_call, change) => this.changes.push(change));
    const running = this.sessions.run({ ...call, signal: this.#stop.signal }, () => this.need);
    this.#running = running.catch(() => undefined);
  }

  fails(error: Error): void {
    this.answer = async () => {
      throw error;
    };
  }

  works(): void {
    this.answer = async () => this.#nextSession();
  }

  async rechecks(): Promise<void> {
    this.sessions.recheck();
    await vi.advanceTimersByTimeAsync(100);
  }

  get key(): string | undefined {
    return this.sessions.known(access)?.accessKeyId.reveal();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the test ends"));
    await vi.advanceTimersByTimeAsync(1000);
    await this.#running;
    this.sessions[Symbol.dispose]();
  }

  #nextSession(): TemporaryCredentials {
    return { credentials: credentialsWithToken(`${this.asked.length}`), lifeMs: 15 * minute };
  }
}

export function credentialsWithToken(name: string): TemporaryCredentials["credentials"] {
  return { ...credentialsOf(name), sessionToken: new Secret(`${name}-session`) };
}

export async function started(world: SessionWorld): Promise<void> {
  using _held = world.sessions.offer(access, token());
  await world.sessions.get(call, access);
}
