/** ID-4. A store whose name means another one by now: its mounts get neither data nor keys of the other, whoever mounts next. */
import { beforeEach, expect, it } from "vitest";
import { secretAccess, storesWith } from "../../../test/support/fake-credentials.ts";
import { mapStorage, swapperOn } from "../../../test/support/fake-healing.ts";
import {
  call,
  credentialsOf,
  FakeNode,
  hangs,
  intentOf,
  mountpointPod,
  otherWorkload,
  podOf,
  source,
  target,
  targetOf,
  workload,
} from "../../../test/support/fake-node.ts";
import { secretIdentity } from "../../core/identity.ts";
import { defaultStore, type Store, type StoreName, type Stores } from "../../core/stores/store.ts";
import { refreshCredentials } from "../credentials/credentials.ts";
import { bringBack } from "../heal/bring-back.ts";
import { publish } from "../publish/publish.ts";
import type { PublishIntent } from "../publish/publish-request.ts";

const minio = "minio" as StoreName;
const before = storesWith({ minio: { endpointUrl: "http://minio" } });
const redefined = storesWith({ minio: { endpointUrl: "http://other" } });
const moved = storesWith({ minio: { endpointUrl: "http://other", formerEndpointUrls: ["http://minio"] } });
const pod = podOf({ identity: secretIdentity({ namespace: "shop", name: "keys" }, minio) });

let node: FakeNode;
let storage: ReturnType<typeof mapStorage>;

beforeEach(() => {
  node = new FakeNode();
  node.knows(pod, workload, otherWorkload);
  storage = mapStorage();
  return () => node[Symbol.dispose]();
});

/** A node plugin with this list of stores, which finds the records of the one before. */
function pluginWith(stores: Stores) {
  return node.process({ storage, swapper: swapperOn(node.kernel), stores });
}

function intentAt(stores: Stores, keys: string, more: Partial<PublishIntent> = {}): PublishIntent {
  const access = { ...secretAccess(credentialsOf(keys)), store: minio };
  return intentOf(workload, { access, store: stores.get(minio) as Store, ...more });
}

function addresses(): readonly string[] {
  const sent = node.requests as readonly { readonly env: readonly string[] }[];
  return sent.flatMap(({ env }) => env.filter((each) => each.startsWith("AWS_ENDPOINT_URL=")));
}

function writtenKeys(): string {
  return [...node.credentialFiles.values()].join("");
}

function mountS3Dies(): void {
  node.kernel.server(source, "dead");
  node.hangUp();
  node.listens = true;
}

it("ID-4 kubelet's next call does not mount a dead mount at the other store", async () => {
  await publish(call, pluginWith(before).publishing, intentAt(before, "first"));
  mountS3Dies();
  const { publishing } = pluginWith(redefined);
  await expect(publish(call, publishing, intentAt(redefined, "second"))).rejects.toThrow(
    /store minio is now http:\/\/other/,
  );
  expect([addresses(), writtenKeys().includes("second")]).toEqual([["AWS_ENDPOINT_URL=http://minio"], false]);

  // One that cannot enter containers: no heal replaces the dead mount, so the publish does.
  await publish(call, node.process({ storage, stores: moved }).publishing, intentAt(moved, "third"));
  expect(addresses()).toEqual(["AWS_ENDPOINT_URL=http://minio", "AWS_ENDPOINT_URL=http://other"]);
});

it("ID-4 a Secret that names another store by now does not mount a dead mount there", async () => {
  await publish(call, pluginWith(before).publishing, intentAt(before, "first"));
  mountS3Dies();
  const access = { ...secretAccess(credentialsOf("second")), store: defaultStore };
  const other = intentOf(workload, { access, store: before.get(defaultStore) as Store });
  // The identity of the Mountpoint Pod names the default store where a Secret chooses: it does not tell the two apart.
  node.put(podOf({ identity: secretIdentity({ namespace: "shop", name: "keys" }, defaultStore) }));
  await expect(publish(call, pluginWith(before).publishing, other)).rejects.toThrow(/mounted at store minio/);
  expect([addresses(), writtenKeys().includes("second")]).toEqual([["AWS_ENDPOINT_URL=http://minio"], false]);
});

it("ID-4 a heal does not take a mount at the other store for the successor", async () => {
  const { publishing } = pluginWith(before);
  await publish(call, publishing, intentAt(before, "first"));
  const { records, healing } = pluginWith(redefined);
  const record = records.mounts.get(mountpointPod);
  if (record === undefined) throw new Error("there is no record");
  const successor = "mp-successor" as typeof mountpointPod;
  records.mounts.set(successor, {
    ...record,
    request: { ...record.request, env: { AWS_ENDPOINT_URL: "http://other" } },
  });
  await expect(bringBack(call, healing, successor, [target])).rejects.toThrow(/store minio is now http:\/\/other/);
});

it("ID-4 a mount whose start nobody saw to the end keeps its store: keys of the other do not reach it", async () => {
  const gaveUp = new AbortController();
  node.behaviour = hangs;
  const first = publish({ ...call, signal: gaveUp.signal }, pluginWith(before).publishing, intentAt(before, "first"));
  await expect.poll(() => node.requests.length, { interval: 5 }).toBe(1);
  gaveUp.abort(new Error("kubelet's deadline"));
  await expect(first).rejects.toThrow("kubelet's deadline");
  node.kernel.server(source, "serving");

  const next = intentAt(redefined, "second", { target: targetOf(otherWorkload), workload: otherWorkload });
  await expect(publish(call, pluginWith(redefined).publishing, next)).rejects.toThrow(
    /store minio is now http:\/\/other/,
  );
  expect(writtenKeys()).not.toContain("second");
});

it("ID-4 a mount at an address that the default store does not list keeps the keys that it has", async () => {
  node.put(podOf());
  await publish(call, pluginWith(before).publishing, intentOf());
  const { sources } = pluginWith(before);
  const renew = (endpointUrl: string, formerEndpointUrls: readonly string[]) => {
    const list = new Map(before).set(defaultStore, {
      ...(before.get(defaultStore) as Store),
      endpointUrl,
      formerEndpointUrls,
    });
    const access = secretAccess(credentialsOf("new"));
    refreshCredentials({ ...sources.credentials, stores: list }, podOf(), access);
    return writtenKeys().includes("new-secret");
  };
  expect(renew("http://another", [])).toBe(false);
  expect(renew("http://another", ["http://s3"])).toBe(true);
});

it("ID-4 a mount whose record was lost gets no keys of a named store: it may be at another address", async () => {
  await publish(call, pluginWith(before).publishing, intentAt(before, "first"));
  storage.files.clear();
  const again = publish(call, pluginWith(redefined).publishing, intentAt(redefined, "second"));
  await expect(again).rejects.toThrow("does not know at which store");
  expect(writtenKeys()).not.toContain("second");
});
