/** The certificate authority of the object store, which Mountpoint Pods install when they are created. */
import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { KubeClient } from "../../kube/client/client.ts";
import { kinds } from "../../kube/kinds.ts";
import { ProblemLog } from "../../kube/problem-log.ts";
import type { Call } from "../../runtime/call.ts";
import type { MountpointPodConfig } from "../domain/mountpoint-pod/mountpoint-pod.ts";

interface Parts {
  readonly reader: Pick<KubeClient, "get">;
  readonly mountpointPods: Pick<MountpointPodConfig, "namespace" | "ca">;
}

/** Certificates are replaced days before the old ones end. */
const everyMs = 10_000;

/** Calls the listener with a hash of the certificates, at the beginning and after every change. Runs until the call ends. */
export async function followRoots(call: Call, { reader, mountpointPods }: Parts, listener: (roots: string) => void) {
  const { ca, namespace } = mountpointPods;
  if (ca === undefined) return listener("");
  const problems = new ProblemLog();
  let known: string | undefined;
  while (!call.signal.aborted) {
    try {
      const found = await reader.get(call, kinds.configMaps, { name: ca.configMap, namespace });
      const roots = createHash("sha256")
        .update(JSON.stringify(found?.data ?? {}))
        .digest("hex")
        .slice(0, 16);
      problems.resolve(ca.configMap);
      if (roots !== known) listener(roots);
      known = roots;
    } catch (error) {
      if (!call.signal.aborted)
        problems.report(call.log, ca.configMap, "failed to read the certificate authority", { error });
    }
    await pause(everyMs, undefined, { signal: call.signal }).catch(() => undefined);
  }
}
