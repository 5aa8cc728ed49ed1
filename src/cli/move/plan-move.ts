/** Which Mountpoint Pods `kubectl s3 move` asks to be left, and how far that is. Pure. */
import { annotations } from "../../core/names.ts";
import type { AttachmentObject, Pod } from "../../topology/objects.ts";
import type { Topology } from "../../topology/topology.ts";
import { volumesNamed } from "../select.ts";
import { UserError } from "../user-error.ts";

export interface MoveScope {
  /** Of a volume, claim, Pod or whatever else leads to volumes. */
  readonly name: string | undefined;
  readonly node: string | undefined;
  readonly all: boolean;
}

export interface Movable {
  readonly mountpointPod: string;
  readonly namespace: string;
  readonly attachment: string;
  readonly volume: string;
  readonly node: string;
  readonly version: string;
  readonly workloads: number;
}

export function movableIn(topology: Topology, { name, node, all }: MoveScope): readonly Movable[] {
  if ([name !== undefined, node !== undefined, all].filter(Boolean).length !== 1) {
    throw new UserError("name one volume, --node or --all", "for example: kubectl s3 move --node worker-1 --dry-run");
  }
  const volumes = name === undefined ? topology.volumes : volumesNamed(topology, name);
  return volumes.flatMap((volume) =>
    volume.attachments
      .filter((attachment) => node === undefined || attachment.node === node)
      .flatMap((attachment) =>
        attachment.mountpointPods
          // One without workloads has nothing to move, and one that ends is left already.
          .filter(({ workloads, ending, phase }) => workloads.length > 0 && !ending && phase === "Running")
          .map((pod) => ({
            mountpointPod: pod.name,
            namespace: pod.namespace,
            attachment: attachment.name,
            volume: volume.name,
            node: attachment.node,
            version: pod.version,
            workloads: pod.workloads.length,
          })),
      ),
  );
}

export type MoveState =
  | { readonly is: "waiting" | "moved" }
  | { readonly is: "failed" | "takenBack"; readonly because: string };

/** `pod` and `attachment` are undefined if they are gone. */
export function stateOf(
  { mountpointPod: name }: Movable,
  request: string,
  pod: Pod | undefined,
  attachment: AttachmentObject | undefined,
): MoveState {
  const served = attachment?.spec.mountpointS3PodAttachments[name];
  if (pod === undefined || served === undefined) return { is: "moved" };
  // The node plugin reports that no workload has a bind mount of it any more.
  const isLeft = attachment?.status?.mountpointPods?.[name]?.inUse === false;
  return served.length === 0 ? { is: isLeft ? "moved" : "waiting" } : requestState(pod, request);
}

/** Of a Mountpoint Pod that still has its workloads. */
function requestState({ metadata: { annotations: notes = {} } }: Pod, request: string): MoveState {
  if (notes[annotations.moveFailed]?.split("\n").includes(request) === true) {
    return { is: "failed", because: "see the event VolumeNotMoved: kubectl s3 events VOLUME" };
  }
  return notes[annotations.move] === request
    ? { is: "waiting" }
    : { is: "takenBack", because: "another client has removed or replaced the request" };
}
