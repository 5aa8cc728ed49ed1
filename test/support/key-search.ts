/** Where keys show up that must not (SE-4): everywhere but in Secrets and in the memory volumes of Mountpoint Pods. */
import { join } from "node:path";
import { attempt } from "../../lab/run.ts";
import { minioAccount, rootAccount, tenantAccount } from "../../lab/s3.ts";
import type { KubeObject } from "../../src/kube/kinds.ts";
import type { Cluster } from "./cluster.ts";
import { keyMark } from "./s3-accounts.ts";

/** The ids, too: the lab's begin their secrets. */
const known = [keyMark, rootAccount.accessKeyId, tenantAccount.accessKeyId, minioAccount.accessKeyId];

/** A line for each file, process and object with a key. `temporary` are tokens and keys of sessions, which may not be in Secrets either. */
export async function placesWithKeys(cluster: Cluster, temporary: readonly string[] = []): Promise<readonly string[]> {
  const keys = [...known, ...temporary];
  const nodes = cluster.lab.nodes.map((node) => inNode(cluster, node.name, keys));
  const objects = [inObjects(cluster, keys), inSecrets(cluster, temporary)];
  return (await Promise.all([onDisks(cluster, keys), ...objects, ...nodes])).flat();
}

/** As this machine sees them, without what is mounted in the nodes: what lies in memory there is not on a disk. */
async function onDisks({ lab }: Cluster, keys: readonly string[]): Promise<readonly string[]> {
  const { state, logs } = lab.layout;
  // The S3 servers' own logs are none of ours.
  const others = ["--exclude=versitygw.log", "--exclude=minio.log"];
  const grep = ["grep", "-rlaF", "-D", "skip", ...others, "-f", "-", join(state, "nodes"), logs];
  return found(await attempt(grep, { signal: patience(), input: keys.join("\n") }));
}

async function inObjects(cluster: Cluster, keys: readonly string[]): Promise<readonly string[]> {
  const kinds = ["events", "pods", "daemonsets", "deployments", "configmaps", "s3pa", "pv", "pvc"];
  const places = await Promise.all(
    kinds.map(async (kind) => {
      const items = await cluster.list(kind, "-A");
      return items
        .filter((object) => hasKey(object, keys))
        .map(({ metadata }) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`);
    }),
  );
  return places.flat();
}

/** Secrets are where lasting keys belong; their data is in Base64. */
async function inSecrets(cluster: Cluster, keys: readonly string[]): Promise<readonly string[]> {
  if (keys.length === 0) return [];
  const secrets = await cluster.list<Secret>("secrets", "-A");
  return secrets
    .filter((secret) => hasKey([secret.metadata, decoded(secret)], keys))
    .map(({ metadata }) => `secrets ${metadata.namespace}/${metadata.name}`);
}

interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

function decoded({ data = {} }: Secret): readonly string[] {
  return Object.values(data).map((value) => Buffer.from(value, "base64").toString());
}

function hasKey(object: object, keys: readonly string[]): boolean {
  const text = JSON.stringify(object);
  return keys.some((key) => text.includes(key));
}

/** Arguments and environment of each process, and what runtimes keep in memory about containers. */
async function inNode({ lab }: Cluster, name: string, keys: readonly string[]): Promise<readonly string[]> {
  const places = "/proc/[0-9]*/environ /proc/[0-9]*/cmdline /run/containerd";
  const script = `cat > /run/keys && grep -rslaF -D skip -f /run/keys ${places}; rm /run/keys`;
  const text = await lab.node(name).exec(["sh", "-c", script], { signal: patience(), input: keys.join("\n") });
  return lines(text).map((place) => `${name}: ${place}`);
}

/** Code 1 of grep: nothing; 2: files went while it looked, which is fine. */
function found({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }): readonly string[] {
  if (code > 2) throw new Error(`grep failed: ${stderr}`);
  return lines(stdout);
}

function lines(text: string): readonly string[] {
  return text.split("\n").filter((line) => line !== "");
}

function patience(): AbortSignal {
  return AbortSignal.timeout(240_000);
}
