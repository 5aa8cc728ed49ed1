import type { PodUid, PvName } from "../../src/core/names.ts";
import { VolumeCapability_AccessMode_Mode as Mode, type NodePublishVolumeRequest } from "../../src/csi/gen/csi.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import { targetPath } from "../../src/node/domain/target-path.ts";
import type { PodRef, Sandbox } from "./cluster.ts";

export interface Published {
  readonly claim: string;
  readonly bucket: string;
  readonly workload: string;
  readonly kubeletDir?: string;
}

/** What kubelet sends for a workload with a plain static volume, and repeats every minute or so. */
export function publishRequestFor(published: Published): NodePublishVolumeRequest {
  const { claim, bucket, workload, kubeletDir = "/var/lib/kubelet" } = published;
  return {
    volumeId: claim,
    targetPath: targetPath(kubeletDir, { workload: workload as PodUid, persistentVolume: claim as PvName }),
    volumeCapability: {
      accessType: { $case: "mount", value: { fsType: "", mountFlags: [], volumeMountGroup: "" } },
      accessMode: { mode: Mode.MULTI_NODE_MULTI_WRITER },
    },
    volumeContext: { bucketName: bucket, "csi.storage.k8s.io/pod.uid": workload },
    publishContext: {},
    secrets: {},
    stagingTargetPath: "",
    readonly: false,
  };
}

/** For a workload of the sandbox that exists already. */
export async function publishRequestOf(sandbox: Sandbox, { namespace, name }: PodRef, claim: string) {
  const pod = await sandbox.cluster.get<Pod>("pod", name, "-n", namespace);
  if (pod === undefined) throw new Error(`there is no Pod ${namespace}/${name}`);
  return publishRequestFor({ claim, bucket: sandbox.bucket, workload: pod.metadata.uid });
}
