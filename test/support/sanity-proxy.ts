/**
 * Stands between csi-sanity and the driver. csi-sanity knows no Pods, and this driver mounts for nobody else: so each
 * NodePublishVolume gets a PersistentVolume, a claim and a Pod, and paths that csi-sanity makes up become those of that Pod.
 * Everything else passes through as it is, refusals included; a call that has to wait for another one is repeated.
 */
import { existsSync } from "node:fs";
import { mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import {
  ControllerService,
  IdentityService,
  type NodePublishVolumeRequest,
  NodeService,
} from "../../src/csi/gen/csi.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import type { PodRef, Sandbox } from "./cluster.ts";
import { csiClient } from "./csi-client.ts";

interface Published {
  readonly pod: PodRef;
  readonly claim: string;
  /** In kubelet's directory. */
  readonly target: string;
}

type Unary = (request: unknown) => Promise<unknown>;

export class SanityProxy implements AsyncDisposable {
  readonly #sandbox: Sandbox;
  readonly #node: string;
  readonly #server = new Server();
  readonly #undo = new AsyncDisposableStack();
  /** By the path that csi-sanity knows. */
  readonly #published = new Map<string, Published>();
  #count = 0;

  private constructor(sandbox: Sandbox, node: string) {
    this.#sandbox = sandbox;
    this.#node = node;
  }

  /** Serves at `socket`; `directory` is for what it needs itself. */
  static async serve(sandbox: Sandbox, node: string, socket: string, directory: string): Promise<SanityProxy> {
    const proxy = new SanityProxy(sandbox, node);
    const [nodeSocket, controllerSocket] = await proxy.#sockets(directory);
    const services = [
      [IdentityService, controllerSocket],
      [ControllerService, controllerSocket],
      [NodeService, nodeSocket],
    ] as const;
    for (const [definition, target] of services) proxy.#add(definition, target);
    await new Promise<void>((done, fail) => {
      proxy.#server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (error) =>
        error === null ? done() : fail(error),
      );
    });
    return proxy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown();
    await this.#undo[Symbol.asyncDispose]();
  }

  /** The driver's sockets lie in the node's file system, at paths that are too long for a socket's address. */
  async #sockets(directory: string): Promise<readonly [string, string]> {
    const { cluster } = this.#sandbox;
    const [controller] = await cluster.list<Pod>("pods", "-n", "kube-system", "-l", "app=s3-csi-controller");
    const volume = `pods/${controller?.metadata.uid}/volumes/kubernetes.io~empty-dir/socket-dir`;
    await symlink(this.#onNode("/var/lib/kubelet/plugins/s3.csi.scality.com"), join(directory, "node"));
    // The controller may be on another node than the one that mounts.
    const elsewhere = controller?.spec.nodeName ?? this.#node;
    await symlink(this.#onNode(`/var/lib/kubelet/${volume}`, elsewhere), join(directory, "controller"));
    return [join(directory, "node/csi.sock"), join(directory, "controller/csi.sock")];
  }

  #onNode(path: string, node = this.#node): string {
    return `/proc/${this.#sandbox.cluster.lab.node(node).init.pid}/root${path}`;
  }

  #add(definition: ServiceDefinition, target: string): void {
    const client = csiClient(definition, `unix:${target}`);
    this.#undo.defer(() => client[Symbol.dispose]());
    const calls = client as unknown as Readonly<Record<string, Unary>>;
    const handlers = Object.keys(definition).map((name) => [
      name,
      this.#handler(name, untilAlone(calls[name] as Unary)),
    ]);
    this.#server.addService(definition, Object.fromEntries(handlers));
  }

  #handler(name: string, call: Unary): handleUnaryCall<unknown, unknown> {
    return (rpc, reply) => {
      this.#answer(name, call, rpc.request).then(
        (response) => reply(null, response),
        ({ code, details, message }: ServiceError) => reply({ code, details: details ?? message }),
      );
    };
  }

  async #answer(name: string, call: Unary, request: unknown): Promise<unknown> {
    switch (name) {
      case "nodePublishVolume":
        return await this.#publish(call, request as NodePublishVolumeRequest);
      case "nodeUnpublishVolume":
        return await this.#unpublish(call, request as PathRequest);
      case "nodeGetVolumeStats": {
        const { volumePath } = request as { volumePath: string };
        return await call({
          ...(request as object),
          volumePath: this.#published.get(volumePath)?.target ?? volumePath,
        });
      }
      default:
        return await call(request);
    }
  }

  async #publish(call: Unary, request: NodePublishVolumeRequest): Promise<unknown> {
    const { volumeId, targetPath, volumeCapability, volumeContext } = request;
    // Nothing can be made for a request that lacks something: the driver is to say so.
    if (!volumeId || !targetPath || !volumeCapability) return await call(request);
    const published = this.#published.get(targetPath) ?? (await this.#workload(volumeId, volumeContext));
    this.#published.set(targetPath, published);
    const response = await call({ ...request, targetPath: published.target });
    await mkdir(targetPath, { recursive: true }); // csi-sanity looks here
    return response;
  }

  async #workload(volumeHandle: string, attributes: Readonly<Record<string, string>>): Promise<Published> {
    const { cluster } = this.#sandbox;
    this.#count += 1;
    const claim = await this.#sandbox.volume({ attributes, csi: { volumeHandle } });
    const pod = await this.#sandbox.pod(`sanity-${this.#count}`, { node: this.#node, claim });
    await cluster.untilReady(pod);
    const uid = (await cluster.get<Pod>("pod", pod.name, "-n", pod.namespace))?.metadata.uid ?? "";
    return { pod, claim, target: `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~csi/${claim}/mount` };
  }

  /** The Pod first: kubelet would otherwise put back what is taken away under its hands. */
  async #unpublish(call: Unary, request: PathRequest): Promise<unknown> {
    const published = this.#published.get(request.targetPath);
    if (published === undefined) return await call({ ...request, targetPath: neverPublished(request.targetPath) });
    const { cluster } = this.#sandbox;
    await cluster.deletePod(published.pod);
    const response = await call({ ...request, targetPath: published.target });
    if (!existsSync(this.#onNode(published.target))) await rm(request.targetPath, { recursive: true, force: true });
    this.#published.delete(request.targetPath);
    await cluster.kubectl("delete", "pvc", published.claim, "-n", this.#sandbox.name, "--wait=true");
    await cluster.kubectl("delete", "pv", published.claim, "--wait=true");
    return response;
  }
}

/** kubelet calls for the same volume every minute or so, and whoever comes meanwhile is to come back: csi-sanity does not. */
function untilAlone(call: Unary): Unary {
  return async (request) => {
    while (true) {
      try {
        return await call(request);
      } catch (error) {
        if ((error as ServiceError).code !== status.ABORTED) throw error;
        await delay(200);
      }
    }
  };
}

/** csi-sanity tidies up after tests that never published: at the path of a Pod that never was. */
function neverPublished(targetPath: string): string {
  const pod = "00000000-0000-0000-0000-000000000000";
  return targetPath === "" ? "" : `/var/lib/kubelet/pods/${pod}/volumes/kubernetes.io~csi/none/mount`;
}

interface PathRequest {
  readonly targetPath: string;
}
