/** What a node knows of the cluster: its own attachments and its own Mountpoint Pods. */

import type { Readiness } from "../../csi/identity.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Call } from "../../runtime/call.ts";
import type { Pulses } from "../../runtime/progress.ts";
import type { NodeConfig } from "../config.ts";
import { Attachments } from "./attachments.ts";
import { type MountS3Log, mountS3Log } from "./mount-s3-log.ts";
import { MountpointPods } from "./mountpoint-pods.ts";

export class Cluster {
  readonly attachments: Attachments;
  readonly mountpointPods: MountpointPods;
  readonly mountS3Log: MountS3Log;
  readonly #client: KubeClient;
  readonly #config: NodeConfig;
  #synced = false;
  #kubernetesVersion: string | undefined;

  constructor(config: NodeConfig, client: KubeClient) {
    this.#client = client;
    this.#config = config;
    this.attachments = new Attachments(controllerHint(config));
    this.mountpointPods = new MountpointPods(config.mountpointNamespace);
    this.mountS3Log = mountS3Log(client, config.mountpointNamespace);
  }

  /** Not ready until the caches are synced. Interrupted watches do not make the node plugin unready later. */
  readonly readiness: Readiness = () =>
    this.#synced ? { ready: true } : { ready: false, because: "the caches are not synced yet" };

  /** undefined until the API server has answered. */
  readonly kubernetesVersion = (): string | undefined => this.#kubernetesVersion;

  /** Keeps everything up to date until the call ends. */
  async follow(call: Call, progress: Pulses): Promise<void> {
    const client = this.#client;
    const { nodeName } = this.#config;
    await Promise.all([
      this.attachments.follow(call, client, nodeName, progress),
      this.mountpointPods.follow(call, client, nodeName, progress),
      this.#waitForSync(call),
    ]);
  }

  async #waitForSync(call: Call): Promise<void> {
    await Promise.all([this.attachments.store.synced(call), this.mountpointPods.store.synced(call)]);
    this.#synced = true;
    call.log.info("caches synced");
    try {
      this.#kubernetesVersion = await this.#client.serverVersion(call);
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
