import { installDriver } from "../../lab/install-driver.ts";
import type { Progress } from "../../lab/progress.ts";
import type { Cluster } from "./cluster.ts";
import { setPluginCommand } from "./node-plugin.ts";

const quiet: Progress = { task: (_title, work) => work({ at: () => undefined }), say: () => undefined };

/**
 * The driver with these values until the end of the scope; then as it was, which is how the lab installs it. `flags` are those of the node
 * plugin that the chart has no value for.
 */
export async function installedWith(
  cluster: Cluster,
  sets: readonly string[],
  flags: readonly string[] = [],
): Promise<AsyncDisposable> {
  if (flags.length > 0) await setPluginCommand(cluster, ["/bin/scality-s3-csi-driver", ...flags]);
  await installDriver(patience(), cluster.lab, quiet, sets);
  return {
    [Symbol.asyncDispose]: async () => {
      if (flags.length > 0) await setPluginCommand(cluster, undefined);
      await installDriver(patience(), cluster.lab, quiet);
    },
  };
}

function patience(): AbortSignal {
  return AbortSignal.timeout(300_000);
}
