import { mountpointContainer, type PodName } from "../../core/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ProblemLog } from "../../kube/problem-log.ts";
import { type Call, deadline } from "../../runtime/call.ts";

/** Reads the end of the log of a Mountpoint Pod's mount-s3; empty if the log cannot be read. */
export type MountS3Log = (call: Call, mountpointPod: PodName) => Promise<string>;

const limitMs = 5000;
/** mount-s3 writes two lines per failed connection attempt. */
const tailLines = 50;

/** Reads the log through the API. Manifests of 2.x do not grant that right: then errors lack the reason from the log. */
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
