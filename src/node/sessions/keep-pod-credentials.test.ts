import { afterEach, beforeEach, expect, it } from "vitest";
import { mapStorage } from "../../../test/support/fake-healing.ts";
import { call, credentialsOf, FakeNode, podOf } from "../../../test/support/fake-node.ts";
import { DriverError } from "../../core/errors.ts";
import { type Identity, podIdentity } from "../../core/identity.ts";
import type { PodName, PodUid, PvName, VolumeId } from "../../core/names.ts";
import { defaultStore } from "../../core/stores/store.ts";
import type { Happening } from "../../kube/event-writer.ts";
import type { PodAccess } from "../credentials/access.ts";
import { MountRecords } from "../records/mount-records.ts";
import { renewPodCredentials } from "./keep-pod-credentials.ts";
import type { SessionChange, SessionNeed } from "./pod-sessions.ts";

const access = (name: string): PodAccess => ({
  source: "pod",
  store: defaultStore,
  account: { namespace: "team-a", name },
  role: undefined,
});
const identityOf = (name: string) => podIdentity({ namespace: "team-a", name }, undefined, defaultStore);

/** Mountpoint Pods of two accounts, each with a workload. */
class World implements AsyncDisposable {
  readonly events: (readonly [string, Happening])[] = [];
  readonly written = new Map<PodUid, string>();
  readonly records = new MountRecords(mapStorage());
  readonly node = new FakeNode().knows(undefined);
  change: (change: SessionChange) => void = () => undefined;
  needOf: (identity: Identity) => SessionNeed = () => "nothing";
  rechecks = 0;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor() {
    for (const account of ["reader", "writer"]) this.#mount(account);
    const sessions = {
      onChange: (listener: (each: typeof call, change: SessionChange) => void) => {
        this.change = (change) => listener(call, change);
        return { [Symbol.dispose]: () => undefined };
      },
      recheck: () => {
        this.rechecks += 1;
      },
      run: ({ signal }: typeof call, needOf: World["needOf"]) => {
        this.needOf = needOf;
        return new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      },
      known: ({ account }: PodAccess) => credentialsOf(account.name),
    };
    const comm = { ...this.node.credentials.comm, open: (uid: PodUid) => this.#volume(uid) };
    this.#running = renewPodCredentials(
      { ...call, signal: this.#stop.signal },
      {
        sessions: sessions as never,
        credentials: { ...this.node.credentials, sessions: sessions as never, comm, records: this.records },
        mountpointPods: this.node.cluster.mountpointPods,
        records: this.records,
        events: { record: (_call, { metadata }, happening) => this.events.push([metadata.name, happening]) },
      },
    );
  }

  remove(account: string): void {
    this.node.cluster.mountpointPods.store.remove(`mount-s3/mp-${account}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the test ends"));
    await this.#running;
    this.node[Symbol.dispose]();
  }

  #mount(account: string): void {
    const name = `mp-${account}` as PodName;
    this.node.put(podOf({ name, uid: account as PodUid, identity: identityOf(account) }));
    this.records.set(name, {
      persistentVolume: "pv" as PvName,
      volumeId: "photos" as VolumeId,
      workload: "u1" as PodUid,
      pidNamespace: "private",
      request: { bucketName: "photos", args: [], env: {} },
      access: access(account),
    });
    const user = { namespace: "team-a", name: `app-of-${account}`, uid: account as PodUid };
    this.records.addUser(name, `/target-of-${account}`, user);
  }

  #volume(uid: PodUid): ReturnType<FakeNode["credentials"]["comm"]["open"]> {
    const volume = this.node.credentials.comm.open(uid);
    return volume && { ...volume, writeCredentials: (files) => void this.written.set(uid, files["s3-csi-keys"] ?? "") };
  }
}

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world[Symbol.asyncDispose]());

it("ID-2 renewed credentials reach the mounts of their account, and no other", () => {
  world.change({ kind: "renewed", identity: identityOf("reader"), wasReported: false });
  expect([...world.written.keys()]).toEqual(["reader"]);
  expect(world.written.get("reader" as PodUid)).toContain("reader-secret");
  expect(world.events).toEqual([]);
});

it.for([
  [false, "work until they end"],
  [true, "have ended"],
] as const)("ID-2 ID-3 workloads of the account learn why credentials are not renewed, ended %j", ([ended, text]) => {
  const error = new DriverError("denied", "the trust policy does not allow it", { hint: "Allow team-a:reader." });
  world.change({ kind: "failed", identity: identityOf("reader"), error, ended });
  expect(world.events).toMatchObject([
    ["app-of-reader", { reason: "CredentialsNotRenewed", fix: "Allow team-a:reader." }],
  ]);
  const message = world.events[0]?.[1].message;
  expect(message).toContain(text);
  expect(message).toContain("the trust policy does not allow it");
});

it("ID-2 the end of a reported failure is told", () => {
  world.change({ kind: "renewed", identity: identityOf("reader"), wasReported: true });
  expect(world.events).toMatchObject([["app-of-reader", { reason: "CredentialsRenewed" }]]);
});

it("ID-2 renewed credentials that do not reach a mount are no renewal for its workload", () => {
  const record = world.records.get("mp-reader" as PodName);
  if (record === undefined) throw new Error("no record");
  const env = { AWS_ENDPOINT_URL: "http://former" };
  world.records.set("mp-reader" as PodName, { ...record, request: { ...record.request, env } });
  world.change({ kind: "renewed", identity: identityOf("reader"), wasReported: true });
  expect([...world.written.keys()]).toEqual([]);
  const fix = expect.stringContaining("s3.formerEndpointUrls") as string;
  expect(world.events).toMatchObject([["app-of-reader", { reason: "CredentialsNotRenewed", fix }]]);
  expect(world.events[0]?.[1].message).toContain("the volume was mounted at http://former");
});

it("ID-2 the session of an account is needed until its last workload and its last Mountpoint Pod are gone", () => {
  const { rechecks } = world;
  expect(world.needOf(identityOf("reader"))).toBe("workload");
  world.records.dropUser("/target-of-reader");
  expect(world.needOf(identityOf("reader"))).toBe("mountpointPod");
  world.remove("reader");
  expect(world.rechecks - rechecks).toBe(1);
  expect([world.needOf(identityOf("reader")), world.needOf(identityOf("writer"))]).toEqual(["nothing", "workload"]);
});

it("ID-2 the session of workloads is needed although their Mountpoint Pod went before its successor came", () => {
  world.remove("reader");
  expect(world.needOf(identityOf("reader"))).toBe("workload");
});
