import type { Cluster } from "./cluster.ts";

const deployment = ["deployment/s3-csi-controller", "-n", "kube-system"] as const;

/** Until the end of the scope no reconciler and no provisioner runs: nobody gets a Mountpoint Pod, and none is replaced. */
export async function controllerAway(cluster: Cluster): Promise<AsyncDisposable> {
  const before = await cluster.get<{ spec: { replicas: number } }>(...deployment);
  await cluster.kubectl("scale", ...deployment, "--replicas=0");
  const pods = ["pod", "-n", "kube-system", "-l", "app=s3-csi-controller"];
  await cluster.kubectl("wait", "--for=delete", ...pods, "--timeout=240s");
  return {
    [Symbol.asyncDispose]: async () => {
      await cluster.kubectl("scale", ...deployment, `--replicas=${before?.spec.replicas ?? 1}`);
      await cluster.kubectl("rollout", "status", ...deployment, "--timeout=240s");
    },
  };
}
