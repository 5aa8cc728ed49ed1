import { afterEach, beforeEach, expect, it } from "vitest";
import { storesWith } from "../../../test/support/fake-credentials.ts";
import { call, credentialsOf, FakeNode, intentOf, podOf, workload } from "../../../test/support/fake-node.ts";
import { access, identity, token } from "../../../test/support/session-world.ts";
import { Secret } from "../../runtime/secret.ts";
import { publish } from "../publish/publish.ts";
import { noStorage } from "../records/tmpfs-storage.ts";
import { renewPodCredentials } from "./keep-pod-credentials.ts";
import { PodSessions } from "./pod-sessions.ts";
import { SessionStorage } from "./session-storage.ts";

/** The node plugin between a start and an end. Nothing of what it stores is kept. */
class Process implements AsyncDisposable {
  readonly #sessions: PodSessions;
  readonly #publishing: FakeNode["rooms"]["publishing"];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(node: FakeNode, key: string) {
    const credentials = { ...credentialsOf(key), sessionToken: new Secret("session") };
    this.#sessions = new PodSessions({
      stores: storesWith({ default: { sts: { endpointUrl: "http://sts" } } }),
      sts: { session: async () => ({ credentials, lifeMs: 900_000 }), [Symbol.dispose]: () => undefined },
      roleOf: async () => undefined,
      storage: new SessionStorage(noStorage),
      nowMs: () => performance.now(),
      sessionLimitMs: 1e12,
    });
    const { records, publishing } = node.process();
    const ofMounts = { ...publishing.credentials, sessions: this.#sessions };
    const sources = { ...publishing.sources, credentials: ofMounts };
    this.#publishing = { ...publishing, credentials: ofMounts, sources };
    this.#running = renewPodCredentials(
      { ...call, signal: this.#stop.signal },
      {
        sessions: this.#sessions,
        credentials: ofMounts,
        mountpointPods: node.cluster.mountpointPods,
        records: records.mounts,
        events: { record: () => undefined },
      },
    );
  }

  async publish(): Promise<void> {
    await publish(call, this.#publishing, intentOf(workload, { access, token: token() }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the process ends"));
    await this.#running;
    this.#sessions[Symbol.dispose]();
  }
}

let node: FakeNode;
beforeEach(() => {
  node = new FakeNode().knows(podOf({ identity }), workload);
});
afterEach(() => node[Symbol.dispose]());

it("ID-2 a node plugin that starts without its sessions renews those of running mounts with kubelet's next call", async () => {
  {
    await using first = new Process(node, "first");
    await first.publish();
  }
  const written = () => node.credentialFiles.get("s3-csi-keys");
  expect(written()).toContain("first-id");
  await using second = new Process(node, "second");
  await second.publish();
  await expect.poll(written).toContain("second-id");
});
