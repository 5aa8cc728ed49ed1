/** Bucket → node → Mountpoint Pod → workloads of one volume: nested lists, drawn from left to right. */
import type { ComponentChildren } from "preact";
import { age } from "../cli/output/age.ts";
import type { AttachmentView, Health, MountpointPodView, VolumeView, WorkloadView } from "../topology/topology.ts";
import { HealthBadge } from "./health-badge.tsx";
import { Limited } from "./limited-list.tsx";
import { mountpointPodFacts } from "./pod-facts.ts";
import { fragmentOf } from "./route.ts";
import { Traffic } from "./traffic.tsx";
import { bucketOf } from "./volume-columns.tsx";

interface TreeProps {
  readonly volume: VolumeView;
  readonly now: string;
}

export function TopologyTree({ volume, now }: TreeProps) {
  return (
    <ul class="tree">
      <li>
        <Card kind="Bucket" name={bucketOf(volume)} />
        <Branches items={volume.attachments} what="nodes">
          {(attachment) => <Attachment key={attachment.name} attachment={attachment} now={now} />}
        </Branches>
      </li>
    </ul>
  );
}

function Attachment({ attachment, now }: { readonly attachment: AttachmentView; readonly now: string }) {
  const { node, fsGroup, health, mountpointPods } = attachment;
  return (
    <li>
      <Card kind="Node" name={node} href={fragmentOf({ view: "nodes", selected: node })} health={health}>
        {fsGroup !== "" && <p>fsGroup {fsGroup}</p>}
      </Card>
      <Branches items={mountpointPods} what="Mountpoint Pods">
        {(pod) => <MountpointPod key={pod.name} pod={pod} now={now} />}
      </Branches>
    </li>
  );
}

function MountpointPod({ pod, now }: { readonly pod: MountpointPodView; readonly now: string }) {
  return (
    <li>
      <Card kind="Mountpoint Pod" name={pod.name} health={pod.health}>
        <p>{mountpointPodFacts(pod, now).join(" · ")}</p>
        <Traffic pod={pod} />
      </Card>
      <Branches items={pod.workloads} what="workloads">
        {(workload) => <Workload key={workload.uid} workload={workload} now={now} />}
      </Branches>
    </li>
  );
}

function Workload({ workload, now }: { readonly workload: WorkloadView; readonly now: string }) {
  const { namespace, name, phase, uid, attachedAt } = workload;
  const isKnown = name !== undefined;
  return (
    <li>
      <Card kind="Workload" name={isKnown ? `${namespace}/${name}` : `UID ${uid}`}>
        <p>
          {isKnown ? phase : "gone or not readable"} · attached {age(attachedAt, now)} ago
        </p>
      </Card>
    </li>
  );
}

interface CardProps {
  readonly kind: string;
  readonly name: string;
  readonly href?: string;
  readonly health?: Health;
  readonly children?: ComponentChildren;
}

function Card({ kind, name, href, health, children }: CardProps) {
  return (
    <div class={`card ${health ?? ""}`}>
      <p class="kind">
        {kind}
        {health !== undefined && <HealthBadge health={health} />}
      </p>
      <p class="name" title={name}>
        {href === undefined ? name : <a href={href}>{name}</a>}
      </p>
      {children}
    </div>
  );
}

const mostBranches = 20;

interface BranchesProps<Item> {
  readonly items: readonly Item[];
  readonly what: string;
  readonly children: (item: Item) => ComponentChildren;
}

function Branches<Item>({ items, what, children }: BranchesProps<Item>) {
  if (items.length === 0) return null;
  return (
    <div class="branches">
      <Limited items={items} limit={mostBranches} what={what}>
        {(shown) => <ul>{shown.map(children)}</ul>}
      </Limited>
    </div>
  );
}
