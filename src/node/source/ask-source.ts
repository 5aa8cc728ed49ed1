import { DriverError } from "../../core/errors.ts";
import type { PodName } from "../../core/names.ts";
import type { Health } from "../../linux/fuse/probe.ts";
import type { Call } from "../../runtime/call.ts";
import { explainTimeout } from "../cluster/explain-timeout.ts";
import { findConnectionProblem } from "../domain/mount-s3-log.ts";
import { sourcePath } from "../domain/target-path.ts";
import type { SourceRoom } from "./source-room.ts";

type Needed = Pick<SourceRoom, "mounts" | "cluster">;

/** Limit for callers whose call has no deadline of its own. */
const answerLimitMs = 120_000;

/** Waits for the answer of mount-s3 at a source until the call ends or the Mountpoint Pod is no longer needed. */
export async function askSource(call: Call, room: Needed, name: PodName): Promise<Exclude<Health, "hung">> {
  const { mountpointPods } = room.cluster;
  const unanswered = () =>
    new DriverError("notReady", `Timed out waiting for mount-s3 of Mountpoint Pod ${name} to answer`, {
      hint: mountpointPods.logsCommand(name),
    });
  const answer = mountpointPods.whileNeeded(call, name, (needed) => waitForAnswer(needed, room, name));
  const health = await explainTimeout(call, unanswered, answer);
  if (health === "hung") throw unanswered();
  return health;
}

/** mount-s3 starts within a second. The node plugin reads its log each time that mount-s3 is silent for this long. */
const silenceMs = 10_000;

/** Rejects with the connection problem from the log of mount-s3, which itself retries for minutes before it gives up. */
async function waitForAnswer(call: Call, { mounts, cluster }: Needed, name: PodName): Promise<Health> {
  const source = sourcePath(mounts.kubeletDir, name);
  for (let waitedMs = 0; waitedMs < answerLimitMs; waitedMs += silenceMs) {
    const health = await mounts.kernel.probe(call, source, silenceMs);
    if (health !== "hung") return health;
    const problem = findConnectionProblem(await cluster.mountS3Log(call, name));
    if (problem === undefined) continue;
    throw new DriverError("notReady", `mount-s3 does not reach the object store: ${problem.message}`, {
      hint: `${problem.fix} ${cluster.mountpointPods.logsCommand(name)}`,
    });
  }
  return "hung";
}
