import { installDriver } from "../../lab/install-driver.ts";
import type { Progress } from "../../lab/progress.ts";
import type { Cluster } from "./cluster.ts";

const quiet: Progress = { task: (_title, work) => work({ at: () => undefined }), say: () => undefined };

/** The driver with these values until the end of the scope; then as it was, which is how the lab installs it. */
export async function installedWith(cluster: Cluster, sets: readonly string[]): Promise<AsyncDisposable> {
  await installDriver(patience(), cluster.lab, quiet, sets);
  return { [Symbol.asyncDispose]: () => installDriver(patience(), cluster.lab, quiet) };
}

function patience(): AbortSignal {
  return AbortSignal.timeout(300_000);
}
