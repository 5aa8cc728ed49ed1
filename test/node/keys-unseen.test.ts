import { join } from "node:path";
import { expect, it } from "vitest";
import { openCluster, type Sandbox } from "../support/cluster.ts";
import { placesWithKeys } from "../support/key-search.ts";
import { mountS3Of, onNode } from "../support/mount-s3-process.ts";
import { keyMark, madeUpKeys, newAccount, secretFields } from "../support/s3-accounts.ts";
import { messagesIn } from "../support/traces.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 500 };

it("SE-4 keys in use, and keys that the object store refuses, are in no log, event, object, disk file, environment or argument", async () => {
  await using sandbox = await cluster.sandbox();
  await using account = await newAccount(cluster);
  const volumes = [
    await sandbox.volume(),
    await volumeWith(sandbox, "good", secretFields(account)),
    await volumeWith(sandbox, "refused", { ...secretFields(madeUpKeys()), session_token: `${keyMark}-token` }),
  ] as const;
  const pods = await Promise.all(volumes.map((claim) => sandbox.pod(`app-${claim}`, { node, claim })));
  await Promise.all(pods.slice(0, 2).map((pod) => cluster.untilReady(pod)));
  await expect.poll(() => messagesIn(cluster, sandbox.name), long).toContain("Could not mount");

  // They are where they belong,
  const { uid } = await mountS3Of(cluster, node, volumes[1]);
  const comm = `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~empty-dir/comm`;
  expect(await onNode(cluster, node, "grep", "-rlF", keyMark, comm)).toBe(`${comm}/credentials/s3-csi-keys\n`);
  // and a search that finds those which are planted elsewhere, finds no others.
  {
    await using plants = new AsyncDisposableStack();
    const planted = [await onDisk(plants), await inEnvironment(plants)];
    expect(await placesWithKeys(cluster)).toEqual(planted);
  }
  expect(await placesWithKeys(cluster)).toEqual([]);
});

async function onDisk(undo: AsyncDisposableStack): Promise<string> {
  const path = "/var/lib/kubelet/planted-key";
  undo.defer(async () => void (await onNode(cluster, node, "rm", "-f", path)));
  await onNode(cluster, node, "sh", "-c", `${mark}; echo "$MARK" > ${path}`);
  return join(cluster.lab.layout.state, "nodes", node, "kubelet/planted-key");
}

async function inEnvironment(undo: AsyncDisposableStack): Promise<string> {
  const script = `${mark}; export MARK; sleep 2147483647 > /dev/null 2>&1 & echo $!`;
  const pid = (await onNode(cluster, node, "sh", "-c", script)).trim();
  undo.defer(async () => void (await onNode(cluster, node, "kill", pid)));
  return `${node}: /proc/${pid}/environ`;
}

/** In two halves: the shell's own arguments are searched, too. */
const mark = `MARK=${keyMark.slice(0, 4)}; MARK="$MARK"${keyMark.slice(4)}`;

async function volumeWith(sandbox: Sandbox, name: string, stringData: object): Promise<string> {
  const secret = { namespace: sandbox.name, name };
  await cluster.apply({ apiVersion: "v1", kind: "Secret", metadata: secret, stringData });
  return sandbox.volume({ attributes: { authenticationSource: "secret" }, csi: { nodePublishSecretRef: secret } });
}
