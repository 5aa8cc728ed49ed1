import type { Scraped } from "../csi/scrape.ts";
import { TokenAccess } from "../kube/access/token-access.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { ProgramMetrics } from "../metrics/program-metrics.ts";

interface ScrapeConfig {
  readonly metricsAuthorization: boolean;
}

/** Two requests to the API server in a minute for each scraper. */
const scraping = { what: "/metrics", rights: [{ verb: "get", path: "/metrics" }], allowedMs: 60_000 } as const;

/** What a program serves at /metrics; undefined: nothing. */
export function scrapedFrom(
  { text }: ProgramMetrics,
  client: KubeClient,
  { metricsAuthorization }: ScrapeConfig,
): Scraped | undefined {
  if (text === undefined) return undefined;
  if (!metricsAuthorization) return { text };
  const access = new TokenAccess(client, scraping);
  return { text, access: (call, token, address) => access.of(call, token, address) };
}
