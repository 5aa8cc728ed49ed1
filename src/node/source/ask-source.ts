import { DriverError } from "../../core/errors.ts";
import type { PodName } from "../../core/names.ts";
import type { Health } from "../../linux/fuse/probe.ts";
import type { Call } from "../../runtime/call.ts";
import { explainTimeout } from "../cluster/explain-timeout.ts";
import { findConnectionProblem } from "../domain/mount-s3-log.ts";
import { sourcePath } from "../domain/target-path.ts";
import type { NodeParts } from "../node-parts.ts";

type Needed = Pick<NodeParts, "config" | "kernel" | "mountpointPods" | "mountS3Log">;

/** The call's own limit ends the wait earlier: this one is for callers without any. */
const answerLimitMs = 120_000;

/** What the server of a source answers, waiting for it as long as the call may and the Mountpoint Pod is needed. */
export async function askSource(call: Call, node: Needed, name: PodName): Promise<Exclude<Health, "hung">> {
  const unanswered = () =>
    new DriverError("notReady", `Timed out waiting for mount-s3 of Mountpoint Pod ${name} to answer`, {
      hint: node.mountpointPods.logsCommand(name),
    });
  const answer = node.mountpointPods.whileNeeded(call, name, (until) => waitForAnswer(until, node, name));
  const health = await explainTimeout(call, unanswered, answer);
  if (health === "hung") throw unanswered();
  return health;
}

/** A start takes a second. After this much silence, and again after as much, the log is asked for the reason. */
const silenceMs = 10_000;

/** mount-s3 tries for minutes what will not work. It goes on with that; whoever waits for it is told. */
async function waitForAnswer(call: Call, node: Needed, name: PodName): Promise<Health> {
  const source = sourcePath(node.config.kubeletDir, name);
  for (let waitedMs = 0; waitedMs < answerLimitMs; waitedMs += silenceMs) {
    const health = await node.kernel.probe(call, source, silenceMs);
    if (health !== "hung") return health;
    const problem = findConnectionProblem(await node.mountS3Log(call, name));
    if (problem === undefined) continue;
    throw new DriverError("notReady", `mount-s3 does not reach the object store: ${problem.message}`, {
      hint: `${problem.fix} ${node.mountpointPods.logsCommand(name)}`,
    });
  }
  return "hung";
}
