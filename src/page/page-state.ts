/** What the page shows, and the messages that keep it up to date: one JSON object per line of `GET /feed`. */
import type { MountpointPodView, VolumeView } from "../topology/topology.ts";
import type { RatesByPod } from "./rates.ts";
import type { StateChange } from "./state-change.ts";

export interface PageState {
  readonly context: string;
  /** By name. */
  readonly volumes: readonly VolumeView[];
  /** Mountpoint Pods that no attachment lists. */
  readonly orphanedPods: readonly MountpointPodView[];
  /** What could not be read, and why. */
  readonly unreadable: readonly string[];
  /** The latest first. */
  readonly events: readonly EventView[];
}

export interface EventView {
  readonly uid: string;
  /** When it happened last, RFC 3339. */
  readonly time: string;
  readonly isWarning: boolean;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  /** `Pod`, `PersistentVolumeClaim` and so on. */
  readonly kind: string;
  /** Empty: the object belongs to no namespace. */
  readonly namespace: string;
  readonly name: string;
  /** Names of the volumes that the object belongs to. */
  readonly volumes: readonly string[];
}

/** Of the plugin to the API server. */
export interface ClusterConnection {
  /** Why the cluster cannot be followed; empty: it is. */
  readonly problem: string;
  /** RFC 3339: since when. */
  readonly since: string;
}

export type FeedMessage =
  /** The first message about the state: everything. */
  | { readonly type: "state"; readonly state: PageState }
  | { readonly type: "change"; readonly change: StateChange }
  | { readonly type: "connection"; readonly connection: ClusterConnection }
  /** Of Mountpoint Pods whose node plugin can be read; the latest counts. */
  | { readonly type: "rates"; readonly rates: RatesByPod }
  /** Nothing has changed, and the plugin is there. */
  | { readonly type: "alive" };

/** The plugin sends a message at least this often; a page that hears nothing for three times as long has lost the plugin. */
export const aliveMs = 5000;
