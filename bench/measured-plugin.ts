/** The node plugin of one node, as a benchmark measures it from the node. */
import type { Pod } from "../src/kube/kinds.ts";
import type { Cluster } from "../test/support/cluster.ts";
import { onNode } from "../test/support/mount-s3-process.ts";

/** One without the controller: both run the same program file, and the kernel does not page out what others use, too. */
export async function nodeToMeasure(cluster: Cluster): Promise<string> {
  const controllers = await cluster.list<Pod>("pods", "-n", "kube-system", "-l", "app=s3-csi-controller");
  const taken = new Set(controllers.map(({ spec }) => spec.nodeName));
  const free = cluster.lab.nodes.find(({ name }) => !taken.has(name));
  if (free === undefined) throw new Error("this needs a node without the controller: ./dev up --nodes 2");
  return free.name;
}

/** The Pod that is not being deleted. */
export async function nodePluginOn(cluster: Cluster, node: string): Promise<Pod & { status?: { podIP?: string } }> {
  const on = ["--field-selector", `spec.nodeName=${node}`];
  const pods = await cluster.list<Pod>("pods", "-n", "kube-system", "-l", "app=s3-csi-node", ...on);
  const plugin = pods.find(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (plugin === undefined) throw new Error(`there is no node plugin on ${node}`);
  return plugin;
}

export async function restartNodePlugins(cluster: Cluster): Promise<void> {
  await cluster.kubectl("rollout", "restart", "-n", "kube-system", "daemonset/s3-csi-node");
  await cluster.kubectl("rollout", "status", "-n", "kube-system", "daemonset/s3-csi-node", "--timeout=240s");
}

export async function untilPagedOut(cluster: Cluster, plugin: Pod): Promise<void> {
  for (;;) {
    const log = await cluster.kubectl("logs", "-n", "kube-system", plugin.metadata.name);
    if (log.includes("start-up code is paged out")) return;
    await new Promise((again) => setTimeout(again, 1000));
  }
}

export interface ProcessFigures {
  readonly residentKb: number;
  /** Without pages of files, which programs on the same node share. */
  readonly anonymousKb: number;
  readonly cpuMs: number;
}

/** Of all processes in all containers of a Pod, except one by name, and the one (of busybox) that holds the namespaces. */
export async function figuresOf(
  { cluster, node }: { readonly cluster: Cluster; readonly node: string },
  podUid: string,
  except = "",
): Promise<ProcessFigures> {
  const script = [
    "for p in /proc/[0-9]*; do",
    '  grep -qs "$1" $p/cgroup || continue',
    '  case "$(cat $p/comm)" in busybox|"$2") continue;; esac',
    "  grep -E 'VmRSS|RssAnon' $p/status",
    "  echo cpu $(sed 's/.*) //' $p/stat)",
    "done; true",
  ].join("\n");
  const text = await onNode(cluster, node, "sh", "-c", script, "figures", podUid, except);
  const sum = (pattern: RegExp) => [...text.matchAll(pattern)].reduce((all, [, value]) => all + Number(value), 0);
  // Fields 14 and 15 of stat, in hundredths of a second.
  const ticks = [...text.matchAll(/^cpu (.*)$/gm)].map(([, line = ""]) => line.split(" ").slice(11, 13).map(Number));
  const cpuMs = ticks.flat().reduce((all, each) => all + each * 10, 0);
  return { residentKb: sum(/VmRSS:\s+(\d+)/g), anonymousKb: sum(/RssAnon:\s+(\d+)/g), cpuMs };
}
