/** The image with which the reconciler creates Mountpoint Pods, and other settings of the controller, for a while. */
import type { Cluster } from "./cluster.ts";
import { giveBackToHelm } from "./fields-of-helm.ts";

const deployment = ["deployment/s3-csi-controller", "-n", "kube-system"] as const;

/** An image that no registry has. */
export const missingImage = "registry.invalid/driver:none";

/** For Mountpoint Pods that the reconciler creates within the scope. `others`: further variables, as NAME=VALUE. */
export async function withMountpointImage(
  cluster: Cluster,
  image: string,
  ...others: readonly string[]
): Promise<AsyncDisposable> {
  const rolledOut = () => cluster.kubectl("rollout", "status", ...deployment, "--timeout=240s");
  const variables = [`MOUNTPOINT_IMAGE=${image}`, ...others];
  await cluster.kubectl("set", "env", ...deployment, "-c", "s3-pod-reconciler", ...variables);
  await rolledOut();
  return {
    [Symbol.asyncDispose]: async () => {
      await cluster.kubectl("rollout", "undo", ...deployment);
      await rolledOut();
      await giveBackToHelm(cluster, ...deployment);
    },
  };
}
