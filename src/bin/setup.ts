/** What has to be done around the life of the driver: the chart runs it before an upgrade and before an uninstallation. */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { DriverError } from "../core/errors.ts";
import { defaultMountpointNamespace } from "../core/names.ts";
import { KubeClient } from "../kube/client.ts";
import { inClusterCredentials, kubeconfigCredentials } from "../kube/credentials.ts";
import type { Call } from "../runtime/call.ts";
import { jsonLogger } from "../runtime/log.ts";
import { type Definition, installKind } from "../setup/install-kind.ts";
import { removeMounts } from "../setup/remove-mounts.ts";
import { version } from "./version.ts";

const stop = new AbortController();
process.once("SIGTERM", () => stop.abort(new DOMException("received SIGTERM", "AbortError")));

const log = jsonLogger((line) => process.stderr.write(line), 4);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    definition: { type: "string", default: "/etc/s3-csi/definition.json" },
    "mountpoint-namespace": { type: "string", default: defaultMountpointNamespace },
    "limit-seconds": { type: "string", default: "300" },
    kubeconfig: { type: "string", default: "" },
  },
});

const tasks: Readonly<Record<string, (call: Call, client: KubeClient) => Promise<void>>> = {
  "install-kind": (call, client) =>
    installKind(call, client, JSON.parse(readFileSync(values.definition, "utf8")) as Definition),
  "remove-mounts": (call, client) =>
    removeMounts(call, client, {
      mountpointNamespace: values["mountpoint-namespace"],
      limitMs: 1000 * Number(values["limit-seconds"]),
      everyMs: 500,
    }),
};

function credentials() {
  if (values.kubeconfig !== "") return kubeconfigCredentials(values.kubeconfig);
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "443" } = process.env;
  return inClusterCredentials({ host, port });
}

async function run(): Promise<void> {
  const task = tasks[positionals[0] ?? ""];
  if (task === undefined) throw new Error(`name a task: ${Object.keys(tasks).join(" or ")}`);
  using client = new KubeClient(credentials(), { userAgent: `s3-csi-setup/${version}` });
  await task({ signal: stop.signal, log }, client);
}

try {
  await run();
} catch (error) {
  log.info("setup failed", { error, ...(error instanceof DriverError ? { hint: error.hint } : {}) });
  process.exitCode = 1;
}
