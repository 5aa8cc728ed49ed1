/** The page in the cluster: shows volumes, Mountpoint Pods and workloads to users whom the API server lets see them. Writes nothing. */
import { serveHealth } from "../csi/health.ts";
import { credentialsAt } from "../kube/client/api-location.ts";
import { KubeClient } from "../kube/client/client.ts";
import { ProgramMetrics } from "../metrics/program-metrics.ts";
import { apiRequests } from "../metrics/requests.ts";
import { bundledPage } from "../page/page-files.ts";
import { runProgram, stderrLogger } from "../runtime/program.ts";
import { Progress } from "../runtime/progress.ts";
import { uiConfigFrom } from "../ui-server/config.ts";
import { UiMetrics } from "../ui-server/metrics.ts";
import { runUi } from "../ui-server/run-ui.ts";
import { scrapedFrom } from "./scraped.ts";
import { version } from "./version.ts";

async function run(signal: AbortSignal): Promise<void> {
  const config = uiConfigFrom(process.argv.slice(2), process.env);
  const call = { signal, log: stderrLogger(config.verbosity) };
  const files = bundledPage();
  if (files === undefined) throw new Error("the page is only in the bundled program: run the bundle");
  const { api, ...shown } = config;
  call.log.info("the page starts", { version, ...shown });
  const progress = new Progress();
  using programMetrics = new ProgramMetrics({ component: "s3-csi-ui", version, progress, served: config.metrics });
  const { registry } = programMetrics;
  const metrics = new UiMetrics(registry);
  const ofClient = { userAgent: `s3-csi-ui/${version}`, onAnswered: apiRequests(registry) };
  using client = new KubeClient(credentialsAt(api), ofClient);
  let isRead = false;
  const readiness = () =>
    isRead ? ({ ready: true } as const) : ({ ready: false, because: "the cluster is not read yet" } as const);
  const health = { readiness, liveness: progress.liveness, metrics: scrapedFrom(programMetrics, client, config) };
  await using _ = config.healthPort === undefined ? undefined : await serveHealth(call, config.healthPort, health);
  await runUi(call, {
    client,
    files,
    config,
    progress,
    onServing: (server) => metrics.measure(server),
    onAnswered: metrics.answered,
    onState: () => {
      isRead = true;
    },
  });
}

await runProgram("page", run);
