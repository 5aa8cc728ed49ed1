/** What the checks of `kubectl s3 doctor` look at. */
import type { Cluster } from "../../topology/cluster.ts";
import type {
  Claim,
  CsiNode,
  EventObject,
  KubeObject,
  Lease,
  Node,
  Pod,
  StorageClass,
  Workload,
} from "../../topology/objects.ts";
import type { Topology } from "../../topology/topology.ts";

/** `unreadable`: the user may not read it, so nothing can be said. */
export type Maybe<Shape> = Shape | "missing" | "unreadable";

export function present<Shape extends object>(maybe: Maybe<Shape>): Shape | undefined {
  return typeof maybe === "string" ? undefined : maybe;
}

export interface Installation {
  readonly cluster: Cluster;
  readonly topology: Topology;
  /** By the clock of the API server. */
  readonly now: Date;
  readonly serverVersion: string;
  readonly definition: Maybe<Definition>;
  readonly csiDriver: Maybe<CsiDriver>;
  readonly daemonSet: Maybe<Workload>;
  readonly deployment: Maybe<Workload>;
  /** Controller Pods and node plugins. */
  readonly driverPods: readonly Pod[];
  readonly nodes: readonly Node[];
  readonly csiNodes: readonly CsiNode[];
  /** By name of the node; renewed by kubelet with the clock of the node. */
  readonly nodeLeases: ReadonlyMap<string, Lease>;
  /** Of the reconciler. */
  readonly lease: Maybe<Lease>;
  readonly classes: readonly StorageClass[];
  /** Of classes of this driver. */
  readonly claims: readonly Claim[];
  readonly priorityClasses: ReadonlySet<string>;
  readonly mountpointNamespace: Maybe<KubeObject>;
  readonly quotas: readonly ResourceQuota[];
  /** Secrets that something refers to, by `NAMESPACE/NAME`. */
  readonly secrets: ReadonlyMap<string, SecretState>;
  /** Undefined: the installation has no CA of its own. */
  readonly caBundle: CaBundle | undefined;
  readonly rights: readonly RightState[];
  readonly events: readonly EventObject[];
  /** Undefined: not tried. */
  readonly tried: TriedStores | undefined;
  /** Kinds that could not be read: checks about them find nothing. */
  readonly unreadable: readonly string[];
}

export interface Definition extends KubeObject {
  readonly spec: {
    readonly versions: readonly {
      readonly name: string;
      readonly served: boolean;
      readonly selectableFields?: readonly { readonly jsonPath: string }[];
      readonly schema?: { readonly openAPIV3Schema?: DefinitionSchema };
    }[];
  };
}

interface DefinitionSchema {
  readonly properties?: Readonly<Record<string, DefinitionSchema>>;
}

export interface CsiDriver extends KubeObject {
  readonly spec: {
    readonly attachRequired?: boolean;
    readonly podInfoOnMount?: boolean;
    readonly requiresRepublish?: boolean;
    readonly tokenRequests?: readonly { readonly audience: string }[];
  };
}

export interface ResourceQuota extends KubeObject {
  readonly status?: {
    readonly hard?: Readonly<Record<string, string>>;
    readonly used?: Readonly<Record<string, string>>;
  };
}

/** Only which keys a Secret has: values are dropped as soon as the answer is parsed. */
export type SecretState =
  | { readonly state: "missing" }
  | { readonly state: "unreadable" }
  | { readonly state: "found"; readonly keys: ReadonlySet<string>; readonly emptyKeys: ReadonlySet<string> };

export interface CaBundle {
  readonly configMap: string;
  readonly pem: Maybe<{ readonly text: string }>;
}

export interface RightState {
  readonly account: string;
  /** Such as `create pods in mount-s3`. */
  readonly right: string;
  readonly allowed: boolean;
}

export type TriedStores =
  | { readonly state: "tried"; readonly stores: readonly TriedStore[] }
  | { readonly state: "not tried"; readonly because: string };

export interface TriedStore {
  readonly name: string;
  readonly endpointUrl: string;
  readonly result: "ok" | "failed" | "not tried";
  /** Cause and fix if it failed, or why it was not tried. */
  readonly problem?: string;
}
