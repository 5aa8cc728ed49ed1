/** The node plugin as a process on its node. */
import type { Pod } from "../../src/kube/kinds.ts";
import type { Cluster } from "./cluster.ts";
import { onNode } from "./mount-s3-process.ts";

/** What each of its descriptors leads to. A Unix socket without a name is the client's end of a connection. */
export async function nodePluginDescriptors(cluster: Cluster, node: string): Promise<readonly string[]> {
  const pid = await nodePluginPid(cluster, node);
  const script = 'ls -l /proc/$1/fd | sed -n "s/.* -> //p"; echo --; cat /proc/$1/net/unix';
  const [links = "", table = ""] = (await onNode(cluster, node, "sh", "-c", script, "fds", pid)).split("--\n");
  const unix = new Map(table.split("\n").map((line) => [line.split(/\s+/)[6], line.split(/\s+/)[7]]));
  return links
    .trim()
    .split("\n")
    .map((link) => {
      const inode = /^socket:\[(\d+)\]$/.exec(link)?.[1];
      if (inode === undefined || !unix.has(inode)) return link;
      return unix.get(inode) === undefined ? `unnamed socket ${inode}` : `socket ${unix.get(inode)}`;
    });
}

/** As the node sees it. */
async function nodePluginPid(cluster: Cluster, node: string): Promise<string> {
  const selector = ["-l", "app=s3-csi-node", "--field-selector", `spec.nodeName=${node},status.phase=Running`];
  const [pod] = await cluster.list<Pod>("pods", "-n", "kube-system", ...selector);
  const script =
    'for p in /proc/[0-9]*; do grep -q "$1" $p/cgroup && echo "${p#/proc/} $(tr "\\0" " " < $p/cmdline)"; done; true';
  const processes = await onNode(cluster, node, "sh", "-c", script, "pid-of", pod?.metadata.uid ?? "none");
  const pids = processes.split("\n").flatMap((line) => /^(\d+) \/opt\/s3-csi\/node/.exec(line)?.[1] ?? []);
  if (pids[0] === undefined) throw new Error(`no node plugin runs on ${node}: ${processes}`);
  return pids[0];
}
