/** What a node knows of the cluster: its own attachments and Mountpoint Pods, and the driver's Secret. Nothing else. */

import type { Readiness } from "../../csi/identity.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Call } from "../../runtime/call.ts";
import type { Pulses } from "../../runtime/progress.ts";
import type { NodeConfig } from "../config.ts";
import { type DriverKeys, fixedKeys, SecretKeys } from "../credentials/driver-keys.ts";
import { Attachments } from "./attachments.ts";
import { MountpointPods } from "./mountpoint-pods.ts";

export class Cluster {
  readonly attachments: Attachments;
  readonly mountpointPods: MountpointPods;
  readonly driverKeys: DriverKeys;
  readonly #config: NodeConfig;
  #complete = false;
  #kubernetesVersion: string | undefined;

  constructor(config: NodeConfig) {
    const { driverCredentials } = config;
    this.#config = config;
    this.attachments = new Attachments(controllerHint(config));
    this.mountpointPods = new MountpointPods(config.mountpointNamespace);
    this.driverKeys =
      driverCredentials.from === "secret"
        ? new SecretKeys(driverCredentials)
        : fixedKeys(driverCredentials.credentials);
  }

  /** Not ready until the first picture is complete; from then on the watches look after themselves. */
  readonly readiness: Readiness = () =>
    this.#complete ? { ready: true } : { ready: false, because: "the API server has not told everything yet" };

  /** undefined until the API server has told. */
  readonly kubernetesVersion = (): string | undefined => this.#kubernetesVersion;

  /** Keeps everything up to date until the call ends. */
  async follow(call: Call, client: KubeClient, progress: Pulses): Promise<void> {
    const { nodeName } = this.#config;
    await Promise.all([
      this.attachments.follow(call, client, nodeName, progress),
      this.mountpointPods.follow(call, client, nodeName, progress),
      this.driverKeys.follow(call, client, progress),
      this.#learn(call, client),
    ]);
  }

  async #learn(call: Call, client: KubeClient): Promise<void> {
    await Promise.all([this.attachments.store.synced(call), this.mountpointPods.store.synced(call)]);
    this.#complete = true;
    call.log.info("everything about this node is known");
    try {
      this.#kubernetesVersion = await client.serverVersion(call);
    } catch (error) {
      // It is for the log of the object store only.
      call.log.info("the version of Kubernetes stays unknown", { error });
    }
  }
}

/** Its namespace is the one of the driver's Secret, which only our chart names. */
function controllerHint({ driverCredentials }: NodeConfig): string {
  const namespace = driverCredentials.from === "secret" ? driverCredentials.namespace : "NAMESPACE-OF-THE-DRIVER";
  return `See: kubectl logs -n ${namespace} -lapp=s3-csi-controller -c s3-pod-reconciler`;
}
