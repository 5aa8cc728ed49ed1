/** Follows everything that the page shows, and reports states and the connection to the API server. */
import { buildTopology } from "../topology/build-topology.ts";
import type { Cluster, Namespaces } from "../topology/cluster.ts";
import type { EventObject } from "../topology/objects.ts";
import type { ClusterApi } from "./cluster-api.ts";
import { elapsed } from "./elapsed.ts";
import { eventViews } from "./event-views.ts";
import { followedCollections } from "./followed-collections.ts";
import type { PageState } from "./page-state.ts";

export interface Followed {
  /** Only volumes whose claims are in it; undefined: all. */
  readonly namespace?: string | undefined;
  readonly namespaces: Namespaces;
  /** What else could not be read, and why. */
  readonly unreadable: readonly string[];
}

export interface Follower {
  readonly onState: (state: PageState) => void;
  /** Empty: the cluster answers. May be repeated. */
  readonly onConnection: (problem: string) => void;
  /** For each loop, once: the result is called in every turn, so at least every few minutes, whether the API server answers or not. */
  readonly pulse?: ((loop: string) => () => void) | undefined;
}

/** Changes come in bursts: several objects change when one Pod starts. */
const settleMs = 200;
/** A connection that a sleeping laptop or a closed tunnel has cut gives no error. */
const probeMs = 10_000;
const probeLimitMs = 8000;

/** Resolves when the signal aborts; never rejects: what fails is tried again. */
export async function followCluster(
  signal: AbortSignal,
  api: ClusterApi,
  { namespace, namespaces, unreadable }: Followed,
  { onState, onConnection, pulse }: Follower,
): Promise<void> {
  let probeProblem = "";
  let timer: NodeJS.Timeout | undefined;
  const changed = () => {
    timer ??= setTimeout(publish, settleMs);
  };
  const { volumes, attachments, mountpointPods, workloads, events } = followedCollections(
    { api, onChange: changed, pulse },
    namespace,
    namespaces.mountpointPods,
  );
  const all = [volumes, attachments, mountpointPods, workloads, ...events];

  function publish(): void {
    timer = undefined;
    if (signal.aborted) return;
    onConnection(probeProblem || (all.find(({ problem }) => problem !== "")?.problem ?? ""));
    if (!all.every(({ isKnown }) => isKnown)) return;
    const cluster: Cluster = {
      ...{ readAt: new Date().toISOString(), context: api.context, namespaces, claims: [] },
      volumes: volumes.objects,
      attachments: attachments.objects,
      mountpointPods: mountpointPods.objects,
      workloads: workloads.objects,
      unreadable: [...unreadable, ...all.flatMap(({ refusals }) => refusals)],
    };
    onState(
      stateOf(
        cluster,
        events.flatMap(({ objects }) => objects),
      ),
    );
  }

  async function probe(): Promise<void> {
    const turned = pulse?.("looking whether the API server answers");
    while (!signal.aborted) {
      await elapsed(signal, probeMs);
      const before = probeProblem;
      probeProblem = await problemOf(signal, api);
      turned?.();
      if (probeProblem !== "" && before === "") for (const each of all) each.restart();
      if (probeProblem !== before) changed();
    }
  }

  await Promise.all([probe(), ...all.map((each) => each.follow(signal))]);
  clearTimeout(timer);
}

function stateOf(cluster: Cluster, events: readonly EventObject[]): PageState {
  const topology = buildTopology(cluster);
  const { context, volumes, orphanedPods, unreadable } = topology;
  return { context, volumes, orphanedPods, unreadable, events: eventViews(cluster, topology, events) };
}

/** Every user that has logged in may read /version. */
async function problemOf(signal: AbortSignal, api: ClusterApi): Promise<string> {
  try {
    await api.json(AbortSignal.any([signal, AbortSignal.timeout(probeLimitMs)]), { path: "/version" });
    return "";
  } catch (error) {
    return signal.aborted ? "" : (error as Error).message;
  }
}
