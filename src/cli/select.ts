/** Which volumes the user means by a name: of a PersistentVolume, a claim, a Pod, a Mountpoint Pod, an attachment or a bucket. */
import type { Topology, VolumeView } from "../topology/topology.ts";
import { UserError } from "./user-error.ts";

/** `NAMESPACE/NAME`, or a name alone, which must then be unambiguous only in so far as all matches are shown. */
export function volumesNamed({ volumes }: Topology, name: string): readonly VolumeView[] {
  const found = volumes.filter((volume) => namesOf(volume).some((each) => isMeant(each, name)));
  if (found.length > 0) return found;
  throw new UserError(
    `"${name}" is no volume, claim, Pod, Mountpoint Pod, attachment or bucket of this driver`,
    "`kubectl s3 list` and `kubectl s3 tree` show the names; a claim or Pod is also found as NAMESPACE/NAME",
  );
}

/** Every name that leads to this volume. */
export function namesOf(volume: VolumeView): readonly string[] {
  const { claim, attachments } = volume;
  const pods = attachments.flatMap(({ mountpointPods }) => mountpointPods);
  const workloads = pods.flatMap((pod) => pod.workloads);
  return [
    volume.name,
    volume.bucket,
    volume.handle,
    ...(claim === undefined ? [] : [`${claim.namespace}/${claim.name}`]),
    ...attachments.map((each) => each.name),
    ...pods.map((each) => each.name),
    ...workloads.map(({ uid }) => uid),
    ...workloads.flatMap(({ namespace, name }) => (name === undefined ? [] : [`${namespace}/${name}`])),
  ];
}

function isMeant(candidate: string, name: string): boolean {
  return candidate === name || (!name.includes("/") && candidate.endsWith(`/${name}`));
}
