/** The garbage collector of Kubernetes, as far as Mountpoint Pods that wait for a volume have an owner. */
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import type { ApiServer } from "./api-server.ts";

interface Owned {
  readonly ownerReferences?: readonly { readonly uid: string }[];
}

/** It looks at the object of now, and deletes it only if that has not changed since. */
export function collectGarbage(server: ApiServer): void {
  const owners = new Set(server.all(kinds.configMaps).map(({ metadata }) => metadata.uid));
  const isLost = ({ metadata }: Pod) => {
    const { ownerReferences = [] } = metadata as Owned;
    return ownerReferences.length > 0 && ownerReferences.every(({ uid }) => !owners.has(uid));
  };
  for (const { metadata } of server.all(kinds.pods).filter(isLost)) {
    const { uid, resourceVersion } = metadata;
    server.delete(kinds.pods, metadata, { uid, resourceVersion });
  }
}
