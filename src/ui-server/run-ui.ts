/** Follows the cluster once for all viewers, and serves what it sees. */
import { TokenAccess } from "../kube/access/token-access.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { Feed } from "../page/feed.ts";
import { followCluster } from "../page/follow-cluster.ts";
import { followRates, type RatesFollower } from "../page/follow-rates.ts";
import type { PageFiles } from "../page/page-files.ts";
import type { Call } from "../runtime/call.ts";
import type { Pulses } from "../runtime/progress.ts";
import { clusterApiOf } from "./cluster-api.ts";
import type { UiConfig } from "./config.ts";
import { figuresInCluster } from "./figures-in-cluster.ts";
import { type PageParts, type PageServer, servePage } from "./page-server.ts";
import { recheckMs, viewing } from "./viewing-rights.ts";

export interface Ui {
  readonly client: Pick<KubeClient, "text" | "lines" | "review">;
  readonly files: PageFiles;
  /** How long an answer about a token counts, and how often open streams are looked at; a test has less time. */
  readonly pace?: { readonly allowedMs: number; readonly recheckMs: number };
  readonly config: Pick<UiConfig, "address" | "clusterName" | "mountpointNamespace" | "ratesFrom">;
  /** Called when the page is served. */
  readonly onServing: (server: PageServer) => void;
  /** Called when the cluster was read, and again with every new state. */
  readonly onState: () => void;
  readonly onAnswered?: PageParts["onAnswered"];
  /** Of the loops that follow the cluster. */
  readonly progress?: Pulses;
}

const usualPace = { allowedMs: viewing.allowedMs, recheckMs };

/** Resolves when the call is aborted; rejects if the port cannot be opened. */
export async function runUi(call: Call, ui: Ui): Promise<void> {
  const { client, files, config, pace = usualPace, onServing, onState, onAnswered, progress } = ui;
  const feed = new Feed();
  const tokens = new TokenAccess(client, { ...viewing, allowedMs: pace.allowedMs });
  const parts = { files, feed, access: tokens.of.bind(tokens), recheckMs: pace.recheckMs, onAnswered };
  await using server = await servePage(call, parts, config.address);
  onServing(server);
  let problem = "";
  const namespaces = { driver: "", mountpointPods: config.mountpointNamespace };
  const followed = { namespaces, unreadable: [] };
  const rates =
    config.ratesFrom && followRates(call.signal, figuresInCluster(client, call.log, config.ratesFrom), feedOf(feed));
  const following = followCluster(call.signal, clusterApiOf(client, call.log, config.clusterName), followed, {
    onState: (state) => {
      feed.setState(state);
      onState();
    },
    onConnection: (now) => {
      feed.setConnection(now);
      if (now !== problem && now !== "") call.log.error("the cluster cannot be followed", { because: now });
      problem = now;
    },
    pulse: progress?.pulse.bind(progress),
  });
  await Promise.all([following, rates]);
}

function feedOf(feed: Feed): RatesFollower {
  return { isWatched: () => feed.isWatched, onRates: (rates) => feed.setRates(rates) };
}
