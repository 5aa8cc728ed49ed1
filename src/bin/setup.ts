/** What has to be done around the life of the driver: the chart runs it before an upgrade and before an uninstallation. */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { defaultMountpointNamespace } from "../core/names.ts";
import { apiLocationFrom, credentialsAt } from "../kube/client/api-location.ts";
import { KubeClient } from "../kube/client/client.ts";
import type { Call } from "../runtime/call.ts";
import { Problems } from "../runtime/problems.ts";
import { runProgram, stderrLogger } from "../runtime/program.ts";
import { type Definition, installKind } from "../setup/install-kind.ts";
import { recreateController } from "../setup/recreate-controller.ts";
import { releaseSecrets } from "../setup/release-secrets.ts";
import { removeMounts } from "../setup/remove-mounts.ts";
import { version } from "./version.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    definition: { type: "string", default: "/etc/s3-csi/definition.json" },
    namespace: { type: "string", default: "" },
    "mountpoint-namespace": { type: "string", default: defaultMountpointNamespace },
    "protected-secrets": { type: "string", default: "" },
    "limit-seconds": { type: "string", default: "300" },
    kubeconfig: { type: "string", default: "" },
  },
});

const tasks: Readonly<Record<string, (call: Call, client: KubeClient) => Promise<void>>> = {
  "install-kind": (call, client) =>
    installKind(call, client, JSON.parse(readFileSync(values.definition, "utf8")) as Definition),
  "recreate-controller": (call, client) => recreateController(call, client, values.namespace),
  "release-secrets": (call, client) => releaseSecrets(call, client, values["protected-secrets"]),
  "remove-mounts": (call, client) =>
    removeMounts(call, client, {
      mountpointNamespace: values["mountpoint-namespace"],
      limitMs: 1000 * Number(values["limit-seconds"]),
      everyMs: 500,
    }),
};

async function run(signal: AbortSignal): Promise<void> {
  const task = tasks[positionals[0] ?? ""];
  if (task === undefined) throw new Error(`name a task: ${Object.keys(tasks).join(" or ")}`);
  const problems = new Problems();
  const location = apiLocationFrom(values.kubeconfig, process.env, problems);
  problems.throwIfAny();
  using client = new KubeClient(credentialsAt(location), { userAgent: `s3-csi-setup/${version}` });
  process.exitCode = 1; // for a Job that is ended before its task is done
  await task({ signal, log: stderrLogger(4) }, client);
  process.exitCode = 0;
}

await runProgram("setup", run);
