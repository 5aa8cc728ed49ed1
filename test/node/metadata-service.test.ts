import { expect, it } from "vitest";
import { openCluster } from "../support/cluster.ts";
import { onNode } from "../support/mount-s3-process.ts";

const cluster = openCluster();
const node = "worker-1";
/** Where a cloud tells its machines who they are; elsewhere nobody answers, and who asks waits. */
const metadataService = "169.254.169.254";

it("MP-15 nothing is asked of a metadata service when a volume is mounted and used", async () => {
  await using sandbox = await cluster.sandbox();
  await using packets = await packetsTo(metadataService);
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  await cluster.exec(pod, "echo hello > /data/file && cat /data/file");
  expect(await packets.count()).toBe(0);

  // A Pod that does ask is noticed.
  await cluster.exec(pod, `nc -w 1 ${metadataService} 80 < /dev/null || true`);
  expect(await packets.count()).toBeGreaterThan(0);
});

interface Packets extends AsyncDisposable {
  count(): Promise<number>;
}

/** Counted by the node's kernel, whoever on the node sends them. A rule without a target does nothing but count. */
async function packetsTo(address: string): Promise<Packets> {
  const rule = (chain: string) => [chain, "-d", address, "-m", "comment", "--comment", "packets-of-the-test"];
  const chains = ["PREROUTING", "OUTPUT"];
  for (const chain of chains) await iptables("-I", ...rule(chain));
  return {
    count: async () => {
      const listed = await Promise.all(chains.map((chain) => iptables("-L", chain, "-v", "-x", "-n")));
      const counters = listed
        .join("\n")
        .split("\n")
        .filter((line) => line.includes("packets-of-the-test"));
      if (counters.length !== chains.length) throw new Error(`the counters are not there: ${listed.join("\n")}`);
      return counters.reduce((sum, line) => sum + Number(line.trim().split(/\s+/)[0]), 0);
    },
    [Symbol.asyncDispose]: async () => {
      for (const chain of chains) await iptables("-D", ...rule(chain));
    },
  };
}

function iptables(...args: readonly string[]): Promise<string> {
  return onNode(cluster, node, "iptables", "-w", "-t", "mangle", ...args);
}
