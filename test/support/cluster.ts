/** A test's view of its lab: kubectl, S3, and objects that vanish with the test. */
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandOutput,
  PutBucketTaggingCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import { Lab } from "../../lab/lab.ts";
import { s3Client } from "../../lab/s3-client.ts";
import type { CoreEvent, KubeObject, Pod } from "../../src/kube/kinds.ts";
import { ApiObjects, pathOf, questionOf } from "./api-objects.ts";
import { execInPod } from "./pod-exec.ts";

/** The lab that `./dev test` or `./dev bench` opened for us. */
export function openCluster(): Cluster {
  const lab = Lab.open(process.env["LAB_NAME"] ?? "none");
  if (lab === undefined)
    throw new Error("this needs a lab: run it with ./dev test cluster, ./dev test node or ./dev bench");
  return new Cluster(lab);
}

export interface PodRef {
  readonly namespace: string;
  readonly name: string;
}

/** What an event has besides what the driver writes itself. */
export interface ReportedEvent extends CoreEvent {
  readonly involvedObject: { readonly name: string };
  readonly lastTimestamp: string | null;
}

/** Far above anything seen: machines are shared. */
const patienceMs = 300_000;

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const limit = AbortSignal.timeout(patienceMs);
  while (!(await isTrue())) await delay(100, undefined, { signal: limit });
}

export class Cluster {
  readonly lab: Lab;
  readonly s3: S3Client;
  /** The network of the test is that of its own lab: what another lab has is read with kubectl, which enters that one's. */
  readonly #api: ApiObjects | undefined;

  constructor(lab: Lab) {
    this.lab = lab;
    this.#api = lab.spec.name === process.env["LAB_NAME"] ? new ApiObjects(lab.layout.kubeconfig) : undefined;
    this.s3 = s3Client(lab.layout.s3Socket);
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return this.lab.kubectl(args, { signal: AbortSignal.timeout(patienceMs) });
  }

  /** The object, or undefined if there is none. In the words of `kubectl get`, as in `get("pod", name, "-n", namespace)`. */
  async get<Shape extends object = KubeObject>(...args: readonly string[]): Promise<Shape | undefined> {
    const question = questionOf(args);
    if (this.#api !== undefined && question?.isList === false) {
      return (await this.#api.get(question.path)) as Shape | undefined;
    }
    const text = await this.kubectl("get", ...args, "-o", "json", "--ignore-not-found");
    return text.trim() === "" ? undefined : (JSON.parse(text) as Shape);
  }

  async list<Shape extends object = KubeObject>(...args: readonly string[]): Promise<readonly Shape[]> {
    const question = questionOf(args);
    if (this.#api !== undefined && question?.isList === true) {
      return (await this.#api.list(question.path)) as readonly Shape[];
    }
    const text = await this.kubectl("get", ...args, "-o", "json");
    return (JSON.parse(text) as { items: Shape[] }).items;
  }

  async apply(...objects: readonly object[]): Promise<void> {
    const api = this.#api;
    const placed = objects.map((object) => ({ object, path: pathOf(object) }));
    if (api !== undefined && placed.every(({ path }) => path !== undefined)) {
      for (const { object, path = "" } of placed) await api.apply(path, object);
      return;
    }
    const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
    await this.lab.kubectl(["apply", "-f", "-"], { signal: AbortSignal.timeout(patienceMs), input });
  }

  /** Gives what a shell in the container printed; the container has to be named if the Pod has several. */
  async exec({ namespace, name }: PodRef, script: string, container?: string): Promise<string> {
    const command = ["sh", "-c", script];
    const request = { namespace, name, command, ...(container !== undefined && { container }) };
    if (this.#api === undefined) {
      const inside = container === undefined ? [] : ["-c", container];
      return await this.kubectl("exec", "-n", namespace, name, ...inside, "--", ...command);
    }
    return await execInPod(this.lab.layout.kubeconfig, request, AbortSignal.timeout(patienceMs));
  }

  async untilReady(pod: PodRef): Promise<void> {
    const isReady = async () => {
      const { status } = (await this.get<Pod>("pod", pod.name, "-n", pod.namespace)) ?? {};
      return status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;
    };
    try {
      await until(isReady);
    } catch (error) {
      throw new Error(`Pod ${pod.name} is not ready:\n${await this.#eventsOf(pod)}`, { cause: error });
    }
  }

  /** The latest last. */
  async #eventsOf({ namespace, name }: PodRef): Promise<string> {
    const asked = ["events", "-n", namespace, "--field-selector", `involvedObject.name=${name}`];
    const events = await this.list<ReportedEvent>(...asked);
    const timeOf = ({ lastTimestamp }: ReportedEvent) => lastTimestamp ?? "";
    const ordered = events.toSorted((a, b) => timeOf(a).localeCompare(timeOf(b)));
    return ordered.map(({ reason, message }) => `${reason}: ${message}\n`).join("");
  }

  /** Returns when it is gone. */
  async deletePod({ namespace, name }: PodRef): Promise<void> {
    if (this.#api === undefined) {
      await this.kubectl("delete", "pod", name, "-n", namespace, "--ignore-not-found", "--wait=true");
      return;
    }
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    const deleted = (await this.#api.delete(path)) as Pod | undefined;
    const uid = async () => (await this.get("pod", name, "-n", namespace))?.metadata.uid;
    if (deleted !== undefined) await until(async () => (await uid()) !== deleted.metadata.uid);
  }

  /** As the given account, which is that of the driver unless another is named. */
  async makeBucket(bucket: string, tags: Readonly<Record<string, string>> = {}, as = this.s3): Promise<void> {
    await as.send(new CreateBucketCommand({ Bucket: bucket }));
    const TagSet = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
    if (TagSet.length > 0) await as.send(new PutBucketTaggingCommand({ Bucket: bucket, Tagging: { TagSet } }));
  }

  /** Until nothing is listed: the store may leave something out of a long list, and a mount-s3 may still be uploading. */
  async emptyBucket(bucket: string, as = this.s3): Promise<void> {
    for (let left = await versionsIn(as, bucket); left.length > 0; left = await versionsIn(as, bucket)) {
      for (const { key, versionId } of left) {
        await as.send(new DeleteObjectCommand({ Bucket: bucket, Key: key, VersionId: versionId }));
      }
    }
  }

  async removeBucket(bucket: string, as = this.s3): Promise<void> {
    while (true) {
      await this.emptyBucket(bucket, as);
      try {
        await as.send(new DeleteBucketCommand({ Bucket: bucket }));
        return;
      } catch (error) {
        if ((error as Error).name !== "BucketNotEmpty") throw error;
      }
    }
  }

  async #createNamespace(name: string): Promise<void> {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    if (this.#api === undefined) {
      await this.kubectl("create", "namespace", name);
      return;
    }
    const api = this.#api;
    await api.create("/api/v1/namespaces", namespace);
    // No Pod is accepted before its account is there, which kube-controller-manager creates.
    const account = `/api/v1/namespaces/${name}/serviceaccounts/default`;
    await until(async () => (await api.get(account)) !== undefined);
  }

  /**
   * Deletes a namespace and PersistentVolumes. Returns when the Pods and claims are gone. The namespace controller waits five seconds
   * before it looks at what is in a namespace, and longer for Pods; nobody uses the names again, so nothing else is waited for.
   */
  async deleteNamespace(name: string, volumes: readonly string[]): Promise<void> {
    const kinds = ["pods", "persistentvolumeclaims"];
    if (this.#api === undefined) {
      await this.kubectl("delete", kinds.join(","), "--all", "-n", name, "--wait=true");
      const others = [`namespace/${name}`, ...volumes.map((volume) => `persistentvolume/${volume}`)];
      await this.kubectl("delete", ...others, "--ignore-not-found", "--wait=false");
      return;
    }
    const api = this.#api;
    const namespace = `/api/v1/namespaces/${name}`;
    const uids = async () => {
      const lists = await Promise.all(kinds.map((kind) => api.list(`${namespace}/${kind}`)));
      return lists.flat().map((object) => (object as KubeObject).metadata.uid);
    };
    const before = new Set(await uids());
    for (const kind of kinds) await api.delete(`${namespace}/${kind}`);
    await until(async () => !(await uids()).some((uid) => before.has(uid)));
    for (const path of [namespace, ...volumes.map((volume) => `/api/v1/persistentvolumes/${volume}`)]) {
      await api.delete(path);
    }
  }

  /** A namespace and a bucket of the test's own; both go with everything in them. */
  async sandbox(): Promise<Sandbox> {
    const name = `t-${randomBytes(4).toString("hex")}`;
    await this.#createNamespace(name);
    await this.s3.send(new CreateBucketCommand({ Bucket: name }));
    return new Sandbox(this, name);
  }
}

export interface Version {
  readonly key: string | undefined;
  readonly versionId: string | undefined;
  /** Of a deletion: no object. */
  readonly isMark: boolean;
}

/** Everything in the bucket; one that keeps no versions has one of each object. */
export async function versionsIn(s3: S3Client, bucket: string): Promise<readonly Version[]> {
  const found: Version[] = [];
  let page: ListObjectVersionsCommandOutput | undefined;
  do {
    const from = { KeyMarker: page?.NextKeyMarker, VersionIdMarker: page?.NextVersionIdMarker };
    page = await s3.send(new ListObjectVersionsCommand({ Bucket: bucket, ...from }));
    for (const { Key, VersionId } of page.Versions ?? []) found.push({ key: Key, versionId: VersionId, isMark: false });
    for (const { Key, VersionId } of page.DeleteMarkers ?? []) {
      found.push({ key: Key, versionId: VersionId, isMark: true });
    }
  } while (page.IsTruncated);
  return found;
}

export interface VolumeWish {
  readonly name?: string;
  readonly mountOptions?: readonly string[];
  readonly accessMode?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  /** Further fields of the PersistentVolume's `csi` section. */
  readonly csi?: object;
}

export interface PodWish {
  readonly node?: string;
  readonly claim?: string;
  /** Name of its service account. */
  readonly account?: string;
  readonly readOnly?: boolean;
  readonly securityContext?: object;
  readonly command?: readonly string[];
  readonly terminationGracePeriodSeconds?: number;
  /** A directory of this machine with programs, at /tools. */
  readonly tools?: string;
}

export class Sandbox implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly name: string;
  readonly #volumes: string[] = [];

  constructor(cluster: Cluster, name: string) {
    this.cluster = cluster;
    this.name = name;
  }

  get bucket(): string {
    return this.name;
  }

  /** A PersistentVolume on the sandbox's bucket and a claim of the same name bound to it. */
  async volume(wish: VolumeWish = {}): Promise<string> {
    const name = wish.name ?? `${this.name}-${this.#volumes.length}`;
    this.#volumes.push(name);
    const ref = { namespace: this.name, name };
    await this.cluster.apply(persistentVolumeManifest(ref, this.bucket, wish), claimManifest(ref, wish));
    return name;
  }

  /** Creates a Pod that sleeps, with the claim at /data if one is named; does not wait for it. */
  async pod(name: string, wish: PodWish = {}): Promise<PodRef> {
    await this.cluster.apply(podManifest({ namespace: this.name, name }, wish));
    return { namespace: this.name, name };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { cluster, name } = this;
    await cluster.deleteNamespace(name, this.#volumes);
    await cluster.removeBucket(name);
  }
}

export function podManifest({ namespace, name }: PodRef, wish: PodWish): object {
  const data = { name: "data", persistentVolumeClaim: { claimName: wish.claim, readOnly: wish.readOnly ?? false } };
  const tools = { name: "tools", hostPath: { path: wish.tools } };
  const volumes = [
    ...(wish.claim === undefined ? [] : [{ volume: data, mountPath: "/data" }]),
    ...(wish.tools === undefined ? [] : [{ volume: tools, mountPath: "/tools" }]),
  ];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace },
    spec: {
      nodeSelector: wish.node === undefined ? undefined : { "kubernetes.io/hostname": wish.node },
      terminationGracePeriodSeconds: wish.terminationGracePeriodSeconds ?? 0,
      serviceAccountName: wish.account,
      securityContext: wish.securityContext,
      containers: [
        {
          name: "app",
          image: "docker.io/library/busybox:1.37",
          command: wish.command ?? ["sleep", "2147483647"],
          volumeMounts: volumes.map(({ volume, mountPath }) => ({ name: volume.name, mountPath })),
        },
      ],
      volumes: volumes.map(({ volume }) => volume),
    },
  };
}

/** Reserved for the claim of this name. */
export function persistentVolumeManifest({ namespace, name }: PodRef, bucketName: string, wish: VolumeWish) {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: [wish.accessMode ?? "ReadWriteMany"],
      storageClassName: "",
      persistentVolumeReclaimPolicy: "Retain",
      mountOptions: wish.mountOptions ?? [],
      claimRef: { namespace, name },
      csi: {
        driver: "s3.csi.scality.com",
        volumeHandle: name,
        volumeAttributes: { bucketName, ...wish.attributes },
        ...wish.csi,
      },
    },
  };
}

/** For the PersistentVolume of the same name. */
export function claimManifest({ namespace, name }: PodRef, wish: Pick<VolumeWish, "accessMode"> = {}) {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace },
    spec: {
      accessModes: [wish.accessMode ?? "ReadWriteMany"],
      storageClassName: "",
      volumeName: name,
      resources: { requests: { storage: "1Gi" } },
    },
  };
}
