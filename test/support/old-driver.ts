/**
 * Stands in for the programs of 2.2.0, whose image cannot be had here. On one node it answers kubelet, and leaves there and in
 * the cluster what contract part 2 says that 2.2.0 leaves; volumes that are said to be of 1.x get a mount of 1.x. The mounter
 * and the node's end of its socket are test/fixtures/peer.c.
 */
import { readFileSync } from "node:fs";
import { vi } from "vitest";
import { s3Endpoint, s3Region } from "../../lab/s3.ts";
import { version } from "../../src/bin/version.ts";
import { comm, labels, mountpointPodName, type PodUid, type PvName } from "../../src/core/names.ts";
import { type NodePublishVolumeRequest, NodeService } from "../../src/csi/gen/csi.ts";
import { identityService } from "../../src/csi/identity.ts";
import { serveRegistration } from "../../src/csi/registration.ts";
import { serve } from "../../src/csi/server.ts";
import { service } from "../../src/csi/service.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import { commDir, parseTargetPath, pluginDir, sourcesDir } from "../../src/node/domain/target-path.ts";
import { silentLogger } from "../../src/runtime/log.ts";
import type { Cluster } from "./cluster.ts";
import { attachmentsOf, onNode } from "./mount-s3-process.ts";
import { kubeletDir, mountsNaming } from "./traces.ts";
import { credentialsOf, mountAs1x, profileFilesOf } from "./v1-mount.ts";

const namespace = "mount-s3";
const mounter = "mounter-of-2.2.0";
/** What the sources of 2.2.0 call themselves. */
export const oldVersion = "2.1.1";

export interface OldDriverWish {
  readonly node: string;
  /** Claims whose volumes 1.x has mounted. */
  readonly of1x: readonly string[];
  /** The compiled program peer. */
  readonly peer: string;
}

export class OldDriver implements AsyncDisposable {
  readonly #cluster: Cluster;
  readonly #wish: OldDriverWish;
  readonly #undo = new AsyncDisposableStack();
  #last: Promise<unknown> = Promise.resolve();

  private constructor(cluster: Cluster, wish: OldDriverWish) {
    this.#cluster = cluster;
    this.#wish = wish;
  }

  /** Returns when kubelet knows it. */
  static async start(cluster: Cluster, wish: OldDriverWish): Promise<OldDriver> {
    const driver = new OldDriver(cluster, wish);
    const call = { signal: new AbortController().signal, log: silentLogger };
    const { promise: registered, resolve: onRegistered } = Promise.withResolvers<void>();
    const kubelet = `/proc/${cluster.lab.node(wish.node).init.pid}/root${kubeletDir}`;
    const node = service(NodeService, {
      nodePublishVolume: (_call, request) => driver.#inTurn(() => driver.#publish(request)),
      nodeGetCapabilities: async () => ({ capabilities: [] }),
      nodeGetInfo: async () => ({ nodeId: wish.node, maxVolumesPerNode: 0n }),
    });
    const identity = identityService({
      version: oldVersion,
      readiness: () => ({ ready: true }),
      servesController: false,
    });
    driver.#undo.use(await serve(call, `unix:${pluginDir(kubelet)}/csi.sock`, [identity, node]));
    const csiSocket = `${pluginDir(kubeletDir)}/csi.sock`;
    driver.#undo.use(
      await serveRegistration(call, { registryDir: `${kubelet}/plugins_registry`, csiSocket, onRegistered }),
    );
    await registered;
    return driver;
  }

  stop(): Promise<void> {
    return this.#undo.disposeAsync();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** One by one: two sharers must not both be the first. */
  #inTurn<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #publish({ targetPath: target, volumeId, volumeContext }: NodePublishVolumeRequest): Promise<object> {
    const { node, of1x } = this.#wish;
    if ((await mountsNaming(this.#cluster, node, ` ${target} `)) !== "") return {};
    const { workload, persistentVolume } = parseTargetPath(kubeletDir, target);
    const bucket = volumeContext["bucketName"] ?? "";
    if (of1x.includes(persistentVolume)) {
      await mountAs1x(this.#cluster, { node, bucket, workload, volumeId, target });
      return {};
    }
    const mountpointPod = await this.#assign(workload, persistentVolume, volumeId);
    const source = `${sourcesDir(kubeletDir)}/${mountpointPod}`;
    if ((await mountsNaming(this.#cluster, node, ` ${source} `)) === "")
      await this.#mountSource(mountpointPod, source, { bucket, workload, volumeId });
    await onNode(this.#cluster, node, "sh", "-c", 'mkdir -p "$2" && mount --bind "$1" "$2"', "bind", source, target);
    return {};
  }

  /** What its controller does: the Mountpoint Pod first, then the attachment, which others join. */
  async #assign(workload: PodUid, pv: PvName, volumeID: string): Promise<string> {
    const entry = { workloadPodUID: workload, attachmentTime: new Date().toISOString() };
    const [attachment] = await attachmentsOf(this.#cluster, pv);
    const [known] = Object.keys(attachment?.spec.mountpointS3PodAttachments ?? {});
    if (attachment !== undefined && known !== undefined) {
      const added = [{ op: "add", path: `/spec/mountpointS3PodAttachments/${known}/-`, value: entry }];
      const change = ["--type=json", "-p", JSON.stringify(added)];
      await this.#cluster.kubectl("patch", "s3pa", attachment.metadata.name, ...change);
      return known;
    }
    const name = mountpointPodName(workload, pv);
    await this.#cluster.apply(mountpointPodOf2x(name, { workload, pv, node: this.#wish.node }), {
      apiVersion: "s3.csi.scality.com/v2",
      kind: "MountpointS3PodAttachment",
      metadata: { name: `s3pa-${workload.slice(0, 5)}`, labels: { [labels.driverVersion]: oldVersion } },
      spec: {
        nodeName: this.#wish.node,
        persistentVolumeName: pv,
        volumeID,
        mountOptions: "allow-delete",
        workloadFSGroup: "",
        mountpointS3PodAttachments: { [name]: [entry] },
      },
    });
    return name;
  }

  /** What its node plugin does, from its own pid namespace. */
  async #mountSource(name: string, source: string, wish: Wanted): Promise<void> {
    const { node, peer } = this.#wish;
    const pod = await this.#cluster.get<Pod>("pod", name, "-n", namespace);
    const directory = commDir(kubeletDir, (pod?.metadata.uid ?? "") as PodUid);
    await vi.waitFor(() => onNode(this.#cluster, node, "test", "-S", `${directory}/${comm.socket}`), {
      timeout: 100_000,
      interval: 100,
    });
    const inPod = profileFilesOf(wish, `${comm.containerPath}/${comm.credentials}`);
    const script = [
      'mkdir -p "$5"; install -d -m 0750 -g 1000 "$1/credentials"; cd "$1/credentials"',
      'printf "[profile %s]\\n" "$2" | install -m 0640 -g 1000 /dev/stdin "$2-config"',
      'printf %s "$3" | install -m 0640 -g 1000 /dev/stdin "$2-credentials"',
      'exec unshare --pid --fork "$6" mount "$1/mount.sock" "$4" "$5"',
    ].join("\n");
    const message = mountMessage(wish.bucket, inPod);
    const given = [directory, inPod.profile, credentialsOf(inPod.profile), message, source, peer];
    await onNode(this.#cluster, node, "sh", "-ec", script, "mount", ...given);
  }
}

/** For its Mountpoint Pods, in place of the one in their image: the profile of their namespace allows no path of the host. */
export async function mounterOf2x(cluster: Cluster, peer: string): Promise<AsyncDisposable> {
  const binaryData = { peer: readFileSync(peer).toString("base64") };
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: mounter, namespace }, binaryData };
  const input = JSON.stringify(configMap);
  // Not applied: it is longer than an annotation may be.
  await cluster.lab.kubectl(["create", "-f", "-"], { signal: AbortSignal.timeout(60_000), input });
  return {
    [Symbol.asyncDispose]: async () => {
      await cluster.kubectl("delete", "configmap", mounter, "-n", namespace, "--ignore-not-found");
    },
  };
}

interface Wanted {
  readonly bucket: string;
  readonly workload: string;
  readonly volumeId: string;
}

/** Contract 2.5, 2.6 and 2.8. */
function mountMessage(bucketName: string, files: ReturnType<typeof profileFilesOf>): string {
  return JSON.stringify({
    bucketName,
    args: [
      "--allow-delete",
      "--allow-root",
      "--force-path-style",
      `--user-agent-prefix=s3-csi-driver/${oldVersion} credential-source#driver k8s/v1.36.3`,
    ],
    env: [
      `AWS_CONFIG_FILE=${files.config}`,
      `AWS_ENDPOINT_URL=${s3Endpoint}`,
      `AWS_PROFILE=${files.profile}`,
      `AWS_REGION=${s3Region}`,
      `AWS_SHARED_CREDENTIALS_FILE=${files.credentials}`,
    ],
  });
}

interface Purpose {
  readonly workload: string;
  readonly pv: string;
  readonly node: string;
}

/** Contract 2.9. Only image and volume of the mounter are not as in 2.2.0. */
function mountpointPodOf2x(name: string, { workload, pv, node }: Purpose): object {
  const onThisNode = { matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels: {
        [labels.mountpointVersion]: "1.19.0",
        [labels.podUid]: workload,
        [labels.volumeName]: pv,
        [labels.driverVersion]: oldVersion,
      },
    },
    spec: {
      restartPolicy: "OnFailure",
      priorityClassName: "mount-s3-critical",
      securityContext: { fsGroup: 1000 },
      affinity: {
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [onThisNode] } },
      },
      tolerations: [{ operator: "Exists" }],
      containers: [
        {
          name: "mountpoint",
          image: `ghcr.io/scality/mountpoint-s3-csi-driver:v${version}`,
          imagePullPolicy: "IfNotPresent",
          command: ["/bin/scality-s3-csi-mounter"],
          args: ["mounter", `${comm.containerPath}/${comm.socket}`, "/mountpoint-s3/bin/mount-s3"],
          securityContext: {
            runAsUser: 1000,
            runAsNonRoot: true,
            allowPrivilegeEscalation: false,
            capabilities: { drop: ["ALL"] },
            seccompProfile: { type: "RuntimeDefault" },
          },
          volumeMounts: [
            { name: comm.volume, mountPath: comm.containerPath },
            { name: "mounter", mountPath: "/bin/scality-s3-csi-mounter", subPath: "peer" },
          ],
        },
      ],
      volumes: [
        { name: comm.volume, emptyDir: { medium: "Memory", sizeLimit: "10Mi" } },
        { name: "mounter", configMap: { name: mounter, defaultMode: 0o755 } },
      ],
    },
  };
}
