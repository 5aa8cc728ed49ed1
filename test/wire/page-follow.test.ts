/** What the page shows of an API server that is restarted, forgets versions, refuses, and does not answer. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { logIn } from "../../src/cli/api/login.ts";
import { followAsUser } from "../../src/cli/ui/follow-as-user.ts";
import type { PageState } from "../../src/page/page-state.ts";
import type { RatesByPod } from "../../src/page/rates.ts";
import { FakeApiServer } from "../support/fake-api-server.ts";
import { kubeconfigFor } from "../support/fake-kubeconfig.ts";

function volume(name: string, resourceVersion = "1"): object {
  return {
    metadata: { name, uid: name, creationTimestamp: "2026-01-01T00:00:00Z", resourceVersion },
    spec: { csi: { driver: "s3.csi.scality.com", volumeHandle: name, volumeAttributes: { bucketName: name } } },
  };
}

class Followed implements AsyncDisposable {
  readonly server = new FakeApiServer();
  state: PageState | undefined;
  problem = "";
  rates: RatesByPod | undefined;
  readonly #stop = new AbortController();
  readonly #home = mkdtempSync(join(tmpdir(), "page-follow-"));
  #following: Promise<void> = Promise.resolve();

  static async start(prepare: (server: FakeApiServer) => void = () => undefined): Promise<Followed> {
    const followed = new Followed();
    prepare(followed.server);
    await followed.server.start();
    const kubeconfig = join(followed.#home, "config");
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigFor(followed.server.port)));
    followed.#following = followAsUser(
      followed.#stop.signal,
      logIn({ kubeconfig }),
      {},
      {
        onState: (state) => {
          followed.state = state;
        },
        onConnection: (problem) => {
          followed.problem = problem;
        },
        isWatched: () => true,
        onRates: (rates) => {
          followed.rates = rates;
        },
      },
    );
    return followed;
  }

  get names(): readonly string[] | undefined {
    return this.state?.volumes.map(({ name }) => name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#following;
    await this.server.stop();
    rmSync(this.#home, { recursive: true });
  }
}

const kinds = ["events", "mountpoints3podattachments", "persistentvolumes", "pods", "pods"];

it("a volume that is created, changed and deleted comes by the watch, without another list", async () => {
  await using followed = await Followed.start();
  const { server } = followed;
  await expect.poll(() => server.watched.toSorted()).toEqual(kinds);
  server.send("persistentvolumes", "ADDED", volume("a", "2"));
  server.send("persistentvolumes", "ADDED", { ...volume("b", "3"), spec: { csi: { driver: "other" } } });
  await expect.poll(() => followed.names).toEqual(["a"]);
  server.send("persistentvolumes", "MODIFIED", { ...volume("a", "4"), status: { phase: "Bound" } });
  await expect.poll(() => followed.state?.volumes[0]?.phase).toBe("Bound");
  server.send("persistentvolumes", "DELETED", volume("a", "5"));
  await expect.poll(() => followed.names).toEqual([]);
  expect(server.lists.filter((each) => each === "persistentvolumes")).toHaveLength(1);
});

it("a watch whose version is forgotten (410) is answered by a new list", async () => {
  await using followed = await Followed.start();
  const { server } = followed;
  await expect.poll(() => server.watched.toSorted()).toEqual(kinds);
  server.volumes = [volume("late")];
  server.send("persistentvolumes", "ERROR", { code: 410, message: "too old resource version" });
  await expect.poll(() => followed.names).toEqual(["late"]);
  expect(followed.problem).toBe("");
});

it("an API server that goes away is a problem until it is back, and the state stays", async () => {
  await using followed = await Followed.start((server) => {
    server.volumes = [volume("before")];
  });
  const { server } = followed;
  await expect.poll(() => followed.names).toEqual(["before"]);
  await server.stop();
  await expect.poll(() => followed.problem).toContain("does not answer");
  expect(followed.names).toEqual(["before"]);
  server.volumes = [volume("after")];
  await server.start();
  await expect.poll(() => followed.names).toEqual(["after"]);
  await expect.poll(() => followed.problem).toBe("");
});

it("rates are read from the node plugins through the API server, if the user may", async () => {
  await using followed = await Followed.start((server) => {
    server.nodePlugins = ["127.0.0.1"];
    server.metrics = 's3_csi_volume_s3_requests_total{mountpoint_pod="mp-a"} 5\n';
  });
  await expect.poll(() => followed.rates).toEqual({});
  expect(followed.server.proxied).toEqual(["/api/v1/namespaces/kube-system/pods/node-plugin-0:9808/proxy/metrics"]);

  await using stranger = await Followed.start((server) => {
    server.nodePlugins = ["127.0.0.1"];
  });
  await expect.poll(() => stranger.server.proxied.length).toBe(1);
  await expect.poll(() => stranger.state).toBeDefined();
  expect([stranger.rates, stranger.problem]).toEqual([undefined, ""]);
});

it("what the user may not read is named, and the rest is shown", async () => {
  await using followed = await Followed.start((server) => {
    server.volumes = [volume("a")];
    server.refused = new Set(["events", "daemonsets"]);
  });
  await expect.poll(() => followed.names).toEqual(["a"]);
  expect(followed.state?.unreadable.map((each) => each.split(":")[0])).toEqual(["DaemonSets", "Events"]);
  expect(followed.problem).toBe("");
});
