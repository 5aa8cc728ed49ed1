import type { Scraped } from "../csi/scrape.ts";
import { PathAccess } from "../kube/access/path-access.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { ProgramMetrics } from "../metrics/program-metrics.ts";

interface ScrapeConfig {
  readonly metricsAuthorization: boolean;
}

/** What a program serves at /metrics; undefined: nothing. */
export function scrapedFrom(
  { text }: ProgramMetrics,
  client: KubeClient,
  { metricsAuthorization }: ScrapeConfig,
): Scraped | undefined {
  if (text === undefined) return undefined;
  if (!metricsAuthorization) return { text };
  const access = new PathAccess(client, "/metrics");
  return { text, access: (call, token, address) => access.of(call, token, address) };
}
