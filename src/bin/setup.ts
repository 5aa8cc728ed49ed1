/** What has to be done around the life of the driver: the chart runs it before an upgrade and before an uninstallation. */
import { readFileSync } from "node:fs";
import { credentialsAt } from "../kube/client/api-location.ts";
import { KubeClient } from "../kube/client/client.ts";
import type { Call } from "../runtime/call.ts";
import { runProgram, stderrLogger } from "../runtime/program.ts";
import { type SetupTask, setupConfigFrom } from "../setup/config.ts";
import { type Definition, installKind } from "../setup/install-kind.ts";
import { recreateController } from "../setup/recreate-controller.ts";
import { releaseSecrets } from "../setup/release-secrets.ts";
import { removeMounts } from "../setup/remove-mounts.ts";
import { version } from "./version.ts";

const pollMs = 500;

async function perform(call: Call, client: KubeClient, task: SetupTask): Promise<void> {
  switch (task.do) {
    case "install-kind":
      return await installKind(call, client, JSON.parse(readFileSync(task.definition, "utf8")) as Definition);
    case "recreate-controller":
      return await recreateController(call, client, task.namespace);
    case "release-secrets":
      return await releaseSecrets(call, client, task.protectedSecrets);
    case "remove-mounts":
      return await removeMounts(call, client, { ...task, everyMs: pollMs });
    default:
      return task satisfies never;
  }
}

async function run(signal: AbortSignal): Promise<void> {
  const { task, api } = setupConfigFrom(process.argv.slice(2), process.env);
  using client = new KubeClient(credentialsAt(api), { userAgent: `s3-csi-setup/${version}` });
  process.exitCode = 1; // for a Job that is ended before its task is done
  await perform({ signal, log: stderrLogger(4) }, client, task);
  process.exitCode = 0;
}

await runProgram("setup", run);
