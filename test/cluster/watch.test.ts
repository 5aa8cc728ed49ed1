/** List-and-watch, the store and the client against a real API server that is cut off, killed and started again. */
import { beforeAll, expect, it } from "vitest";
import { DriverError } from "../../src/core/errors.ts";
import { ApiError } from "../../src/kube/client/api-error.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { kubeconfigCredentials } from "../../src/kube/client/credentials.ts";
import { kinds, type MountpointS3PodAttachment, type SecretObject } from "../../src/kube/kinds.ts";
import { Store } from "../../src/kube/watch/store.ts";
import { type Watcher, watch } from "../../src/kube/watch/watch.ts";
import { deadline } from "../../src/runtime/call.ts";
import { jsonLogger } from "../../src/runtime/log.ts";
import { openCluster } from "../support/cluster.ts";
import { ending } from "../support/ending.ts";
import { Gate } from "../support/gate.ts";
import { installAttachmentKind, long, Stage } from "../support/stage.ts";

const cluster = openCluster();

beforeAll(() => installAttachmentKind(cluster));

/** stream: WatchList. pages: for servers without that feature. */
const bothLists = ["stream", "pages"] as const;

it.for(bothLists)(
  "SC-8 the store has what was there, and is told what comes, changes and goes, in order: by %s",
  async (listBy) => {
    await using stage = await Stage.open(cluster);
    await put(stage, "there", "1");
    await using follower = await Follower.start(stage, listBy);
    expect(follower.story).toEqual(["there: - → 1"]);

    await put(stage, "new", "1");
    await change(stage, "there", "2");
    await change(stage, "new", "3");
    await remove(stage, "there");
    await remove(stage, "new");
    await put(stage, "new", "4");

    const rest = ["new: - → 1", "there: 1 → 2", "new: 1 → 3", "there: 2 → -", "new: 3 → -", "new: - → 4"];
    await expect.poll(() => follower.story.slice(1), long).toEqual(rest);
  },
);

it.for(bothLists)(
  "SC-8 what happens while the connection is cut is told afterwards, and the cut is in the log: by %s",
  async (listBy) => {
    await using stage = await Stage.open(cluster);
    for (const name of ["kept", "changed", "gone", "replaced"]) await put(stage, name, "1");
    await using follower = await Follower.start(stage, listBy);
    const before = follower.story.length;

    follower.gate.shut();
    await expect.poll(() => follower.log, long).toContain("watch interrupted");
    await change(stage, "changed", "2");
    await remove(stage, "gone");
    await remove(stage, "replaced");
    await put(stage, "replaced", "2");
    follower.gate.open();

    await expect.poll(() => follower.now, long).toEqual({ kept: "1", changed: "2", replaced: "2" });
    expect(follower.story.slice(before)).toEqual([
      "changed: 1 → 2",
      "gone: 1 → -",
      "replaced: 1 → -",
      "replaced: - → 2",
    ]);
    await expect.poll(() => follower.log, long).toContain("watch recovered");
  },
);

it.for(bothLists)(
  "SC-8 an API server killed and started again loses nothing, and tells nothing twice: by %s",
  async (listBy) => {
    await using stage = await Stage.open(cluster);
    for (const name of ["kept", "changed"]) await put(stage, name, "1");
    await using follower = await Follower.start(stage, listBy);
    const before = follower.story.length;
    const awaited = follower.store.waitFor(follower.call, { key: `${stage.name}/late` }, ([value]) => value);

    const api = cluster.lab.component("kube-apiserver");
    await api.kill(patience());
    await expect(put(stage, "lost", "1")).rejects.toSatisfy(
      (error) => error instanceof DriverError && error.kind === "notReady",
    );
    await api.start(patience());
    await cluster.lab.untilApiAnswers(patience());
    await change(stage, "changed", "2");
    await put(stage, "late", "1");

    expect(await awaited).toBe("1");
    expect(follower.story.slice(before)).toEqual(["changed: 1 → 2", "late: - → 1"]);
  },
);

it.for(bothLists)(
  "SC-8 a server that has forgotten where we were (410) is asked for everything, and the deletions are found out: by %s",
  async (listBy) => {
    await using stage = await Stage.open(cluster);
    for (const name of ["kept", "changed", "gone", "replaced"]) await put(stage, name, "1");
    await using follower = await Follower.start(stage, listBy);
    const before = follower.story.length;

    follower.gate.shut();
    await change(stage, "changed", "2");
    await remove(stage, "gone");
    await remove(stage, "replaced");
    await put(stage, "replaced", "2");
    // A started server remembers only what happens from then on, whatever etcd still has.
    const api = cluster.lab.component("kube-apiserver");
    await api.kill(patience());
    await api.start(patience());
    await cluster.lab.untilApiAnswers(patience());
    follower.gate.open();

    await expect.poll(() => follower.now, long).toEqual({ kept: "1", changed: "2", replaced: "2" });
    expect(follower.log).toMatch(/watch starts again.*"saw":"expired"/);
    expect(new Set(follower.story.slice(before))).toEqual(
      new Set(["changed: 1 → 2", "gone: 1 → -", "replaced: 1 → 2"]),
    );
  },
);

it("a field selector is applied by the server: what is of another node never comes, and what becomes so, goes", async () => {
  await using stage = await Stage.open(cluster);
  const attachment = (name: string, nodeName: string) => ({
    metadata: { name: `${stage.name}-${name}` },
    spec: {
      nodeName,
      persistentVolumeName: stage.name,
      volumeID: "v",
      mountOptions: "",
      workloadFSGroup: "",
      mountpointS3PodAttachments: {},
    },
  });
  const { client, call, node, otherNode } = stage;
  for (const each of [attachment("mine", node), attachment("moving", node), attachment("foreign", otherNode)])
    await client.create(call, kinds.attachments, each);
  const store = new Store<string>({});
  const mine = {
    kind: kinds.attachments,
    fieldSelector: `spec.nodeName=${node}`,
    trim: ({ metadata }: MountpointS3PodAttachment) => metadata.name.slice(stage.name.length + 1),
  };
  await using _ = ending((signal) => watch({ ...call, signal }, client, mine, store));
  await store.synced(call);
  expect([...store.values()]).toEqual(["mine", "moving"]);

  const ref = attachment("moving", node).metadata;
  await client.patch(call, kinds.attachments, ref, { spec: { nodeName: otherNode } });
  await client.create(call, kinds.attachments, attachment("foreign-too", otherNode));
  await client.create(call, kinds.attachments, attachment("new", node));
  await expect.poll(() => [...store.values()], long).toEqual(["mine", "new"]);
});

it("a list longer than a page arrives whole, by pages and by stream", { timeout: 120_000 }, async () => {
  await using stage = await Stage.open(cluster);
  const names = Array.from({ length: 501 }, (_, index) => `object-${index}`);
  await Promise.all(names.map((name) => put(stage, name, "1")));
  const { client, call, name: namespace } = stage;
  const pages: number[] = [];
  for await (const { objects } of client.pages(call, kinds.secrets, { namespace })) pages.push(objects.length);
  expect(pages).toEqual([500, 1]);
  expect((await client.list(call, kinds.secrets, { namespace })).map(({ metadata }) => metadata.name)).toEqual(
    expect.arrayContaining(names),
  );
  await using follower = await Follower.start(stage);
  expect(follower.story).toHaveLength(names.length);
});

it.for([
  { asked: "another object of the name", but: { uid: "00000000-0000-0000-0000-000000000000" } },
  { asked: "an older version", but: { resourceVersion: "old" } },
])("a deletion that means $asked is refused, and the object stays", async ({ but }) => {
  await using stage = await Stage.open(cluster);
  const { metadata: old } = await put(stage, "object", "1");
  const { metadata: now } = await change(stage, "object", "2");
  const wanted = { uid: now.uid, ...but, ...(but.resourceVersion && { resourceVersion: old.resourceVersion }) };
  const { client, call } = stage;
  await expect(client.delete(call, kinds.secrets, now, wanted)).rejects.toSatisfy(isConflict);
  expect(await client.get(call, kinds.secrets, now)).toBeDefined();

  await client.delete(call, kinds.secrets, now, now);
  expect(await client.get(call, kinds.secrets, now)).toBeUndefined();
  // Gone is what was wanted, whoever did it.
  await client.delete(call, kinds.secrets, now, now);
});

it("a patch of an older version is refused, and changes nothing", async () => {
  await using stage = await Stage.open(cluster);
  const { metadata: old } = await put(stage, "object", "1");
  await change(stage, "object", "2");
  const patch = { metadata: { resourceVersion: old.resourceVersion, labels: { value: "3" } } };
  await expect(stage.client.patch(stage.call, kinds.secrets, old, patch)).rejects.toSatisfy(isConflict);
  const now = await stage.client.get(stage.call, kinds.secrets, old);
  expect(now?.metadata.labels).toEqual({ value: "2" });
});

it("a wait ends with the event, with the caller's abort, and with its deadline", async () => {
  await using stage = await Stage.open(cluster);
  await using follower = await Follower.start(stage);
  const { store, call } = follower;
  const wait = (signal: AbortSignal) =>
    store.waitFor({ ...call, signal }, { key: `${stage.name}/object` }, ([value]) =>
      value === "2" ? value : undefined,
    );
  const caller = new AbortController();
  const [met, aborted] = [wait(call.signal), wait(caller.signal)];
  using limited = deadline(call, 50, "object to be 2");
  await expect(wait(limited.signal)).rejects.toThrow("gave up after 50 ms waiting for object to be 2");
  await put(stage, "object", "1");
  caller.abort(new Error("the caller left"));
  await expect(aborted).rejects.toThrow("the caller left");

  await change(stage, "object", "2");
  expect(await met).toBe("2");
});

/** A watch over the Secrets of a stage, by a client that can be cut off. */
class Follower implements AsyncDisposable {
  readonly store = new Store<string>({});
  readonly story: string[] = [];
  readonly gate: Gate;
  readonly call;
  readonly #lines: string[] = [];
  readonly #stop = new AbortController();
  readonly #client: KubeClient;
  readonly #ended: Promise<void>;

  private constructor(stage: Stage, gate: Gate, listBy: (typeof bothLists)[number]) {
    this.gate = gate;
    this.call = { signal: this.#stop.signal, log: jsonLogger((line) => this.#lines.push(line), 4) };
    this.#client = new KubeClient(gate.through(kubeconfigCredentials(cluster.lab.layout.kubeconfig)), {
      userAgent: "test",
    });
    this.store.subscribe(({ key, before = "-", after = "-" }) => {
      this.story.push(`${key.slice(stage.name.length + 1)}: ${before} → ${after}`);
    });
    const secrets = { kind: kinds.secrets, namespace: stage.name, trim: valueOf };
    const client = listBy === "stream" ? this.#client : withoutStreams(this.#client);
    this.#ended = watch(this.call, client, secrets, this.store);
  }

  static async start(stage: Stage, listBy: (typeof bothLists)[number] = "stream"): Promise<Follower> {
    const { server } = kubeconfigCredentials(cluster.lab.layout.kubeconfig);
    const follower = new Follower(stage, await Gate.to(server), listBy);
    await follower.store.synced(follower.call);
    return follower;
  }

  get log(): string {
    return this.#lines.join("");
  }

  /** Names and values in the store. */
  get now(): Readonly<Record<string, string>> {
    const last = this.story.map((line) => line.split(/: .* → /) as [string, string]);
    return Object.fromEntries([...new Map(last)].filter(([, value]) => value !== "-"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#ended;
    this.#client[Symbol.dispose]();
    await this.gate[Symbol.asyncDispose]();
  }
}

/** As against a server whose WatchList feature is turned off. */
function withoutStreams(client: KubeClient): Watcher {
  return {
    pages: (call, kind, selection) => client.pages(call, kind, selection),
    watch: async (call, kind, selection, parameters) => {
      if ("sendInitialEvents" in parameters) throw new ApiError(422, "Invalid", "sendInitialEvents: Forbidden");
      return await client.watch(call, kind, selection, parameters);
    },
  };
}

function valueOf({ metadata }: SecretObject): string {
  return metadata.labels?.["value"] ?? "";
}

function put({ client, call, name: namespace }: Stage, name: string, value: string): Promise<SecretObject> {
  const metadata = { namespace, name, labels: { value } };
  return client.create(call, kinds.secrets, { metadata });
}

function change({ client, call, name: namespace }: Stage, name: string, value: string): Promise<SecretObject> {
  return client.patch(call, kinds.secrets, { namespace, name }, { metadata: { labels: { value } } });
}

async function remove({ client, call, name: namespace }: Stage, name: string): Promise<void> {
  const object = await client.get(call, kinds.secrets, { namespace, name });
  if (object !== undefined) await client.delete(call, kinds.secrets, object.metadata, { uid: object.metadata.uid });
}

function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.isConflict;
}

function patience(): AbortSignal {
  return AbortSignal.timeout(120_000);
}
