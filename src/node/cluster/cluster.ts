/** The caches of a node: its own attachments, its own Mountpoint Pods and the driver's Secret. */

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
  #synced = false;
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

  /** Not ready until the caches are synced. Interrupted watches do not make the node plugin unready later. */
  readonly readiness: Readiness = () =>
    this.#synced ? { ready: true } : { ready: false, because: "the caches are not synced yet" };

  /** undefined until the API server has answered. */
  readonly kubernetesVersion = (): string | undefined => this.#kubernetesVersion;

  /** Keeps everything up to date until the call ends. */
  async follow(call: Call, client: KubeClient, progress: Pulses): Promise<void> {
    const { nodeName } = this.#config;
    await Promise.all([
      this.attachments.follow(call, client, nodeName, progress),
      this.mountpointPods.follow(call, client, nodeName, progress),
      this.driverKeys.follow(call, client, progress),
      this.#waitForSync(call, client),
    ]);
  }

  async #waitForSync(call: Call, client: KubeClient): Promise<void> {
    await Promise.all([this.attachments.store.synced(call), this.mountpointPods.store.synced(call)]);
    this.#synced = true;
    call.log.info("caches synced");
    try {
      this.#kubernetesVersion = await client.serverVersion(call);
    } catch (error) {
      // Only the user agent in requests to the object store contains the version.
      call.log.info("the version of Kubernetes is unknown", { error });
    }
  }
}

/** The controller is in the namespace of the driver's Secret. Only our chart passes that namespace. */
function controllerHint({ driverCredentials }: NodeConfig): string {
  const namespace = driverCredentials.from === "secret" ? driverCredentials.namespace : "NAMESPACE-OF-THE-DRIVER";
  return `See: kubectl logs -n ${namespace} -lapp=s3-csi-controller -c s3-pod-reconciler`;
}
