/** Where keys show up that must not (SE-4): everywhere but in Secrets and in the memory volumes of Mountpoint Pods. */
import { join } from "node:path";
import { attempt } from "../../lab/run.ts";
import { rootAccount, tenantAccount } from "../../lab/s3.ts";
import type { Cluster } from "./cluster.ts";
import { keyMark } from "./s3-accounts.ts";

/** The ids, too: the lab's begin their secrets. */
const keys = [keyMark, rootAccount.accessKeyId, tenantAccount.accessKeyId];

/** A line for each file, process and object with a key. */
export async function placesWithKeys(cluster: Cluster): Promise<readonly string[]> {
  const { lab } = cluster;
  const nodes = lab.nodes.map((node) => inNode(cluster, node.name));
  return (await Promise.all([onDisks(cluster), inObjects(cluster), ...nodes])).flat();
}

/** As this machine sees them, without what is mounted in the nodes: what lies in memory there is not on a disk. */
async function onDisks({ lab }: Cluster): Promise<readonly string[]> {
  const { state, logs } = lab.layout;
  // The S3 server's own log is none of ours.
  const grep = ["grep", "-rlaF", "-D", "skip", "--exclude=versitygw.log", "-f", "-", join(state, "nodes"), logs];
  return found(await attempt(grep, { signal: patience(), input: keys.join("\n") }));
}

async function inObjects(cluster: Cluster): Promise<readonly string[]> {
  const kinds = ["events", "pods", "daemonsets", "deployments", "configmaps", "s3pa", "pv", "pvc"];
  const places = await Promise.all(
    kinds.map(async (kind) => {
      const items = await cluster.list(kind, "-A");
      return items.filter(hasKey).map(({ metadata }) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`);
    }),
  );
  return places.flat();
}

function hasKey(object: object): boolean {
  const text = JSON.stringify(object);
  return keys.some((key) => text.includes(key));
}

/** Arguments and environment of each process, and what runtimes keep in memory about containers. */
async function inNode({ lab }: Cluster, name: string): Promise<readonly string[]> {
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
