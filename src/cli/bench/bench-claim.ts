/** Pure: the claim through which a Pod gets exactly this volume. */
import type { Claim } from "../../topology/objects.ts";
import type { VolumeView } from "../../topology/topology.ts";
import { UserError } from "../user-error.ts";

export interface ClaimName {
  readonly namespace: string;
  readonly name: string;
}

/**
 * A Released volume names the claim that it was bound to. A claim of the same name may exist again with another volume, and a Pod would write
 * there.
 */
export function benchClaim(view: VolumeView, claims: readonly Claim[]): ClaimName {
  const { name, claim, accessModes, attachments } = view;
  if (claim === undefined)
    throw new UserError(`volume ${name} has no claim, so no Pod can use it`, "create a claim with this volumeName");
  const found = claims.find(({ metadata }) => metadata.namespace === claim.namespace && metadata.name === claim.name);
  const full = `${claim.namespace}/${claim.name}`;
  if (found === undefined)
    throw new UserError(
      `claim ${full} of volume ${name} does not exist, or you may not list claims`,
      `kubectl get pvc -n ${claim.namespace} ${claim.name}; name a volume that is bound to a claim`,
    );
  if (found.spec.volumeName !== name)
    throw new UserError(
      `claim ${full} is bound to ${found.spec.volumeName ?? "no volume"}, not to volume ${name}`,
      "name a volume that is bound to a claim: kubectl get pv shows their STATUS",
    );
  const isInUse = attachments.some(({ mountpointPods }) =>
    mountpointPods.some(({ workloads }) => workloads.length > 0),
  );
  if (isInUse && accessModes.includes("ReadWriteOncePod"))
    throw new UserError(
      `volume ${name} has the access mode ReadWriteOncePod, and a Pod uses it`,
      "delete that Pod first: Kubernetes starts no second one",
    );
  return claim;
}
