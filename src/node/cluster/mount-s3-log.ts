import { mountpointContainer, type PodName } from "../../core/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ProblemLog } from "../../kube/problem-log.ts";
import { type Call, deadline } from "../../runtime/call.ts";

/** The end of what the mount-s3 of a Mountpoint Pod has printed; empty if nobody tells. */
export type MountS3Log = (call: Call, mountpointPod: PodName) => Promise<string>;

const limitMs = 5000;
/** A failed attempt takes two lines. */
const tailLines = 50;

/** From the API: only kubelet has it. Manifests of 2.x grant no right to it, and then nobody is told more than before. */
export function mountS3Log(client: Pick<KubeClient, "logTail">, namespace: string): MountS3Log {
  const problems = new ProblemLog();
  return async (call, name) => {
    using limited = deadline(call, limitMs, "the log of mount-s3");
    try {
      const options = { container: mountpointContainer, lines: tailLines };
      const tail = await client.logTail(limited, { namespace, name }, options);
      problems.resolve("log");
      return tail;
    } catch (error) {
      if (call.signal.aborted) throw error;
      problems.report(call.log, "log", "the log of mount-s3 cannot be read", { error });
      return "";
    }
  };
}
