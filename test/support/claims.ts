/** Claims of classes that a test makes for itself: what they become in the cluster and in the object store. */
import {
  GetBucketTaggingCommand,
  ListBucketsCommand,
  PutBucketVersioningCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import type { CoreEvent, KubeObject } from "../../src/kube/kinds.ts";
import type { Cluster, Sandbox } from "./cluster.ts";

export interface ClassWish {
  readonly parameters?: Readonly<Record<string, string>>;
  readonly mountOptions?: readonly string[];
  readonly volumeBindingMode?: "Immediate" | "WaitForFirstConsumer";
  readonly reclaimPolicy?: "Delete" | "Retain";
}

export interface ClaimWish {
  readonly accessMode?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly storage?: string;
  readonly namespace?: string;
  readonly volumeMode?: "Filesystem" | "Block";
}

export interface BoundVolume extends KubeObject {
  readonly spec: {
    readonly capacity: { readonly storage: string };
    readonly csi: {
      readonly volumeHandle: string;
      readonly volumeAttributes: Readonly<Record<string, string>>;
      readonly nodePublishSecretRef?: object;
    };
  };
}

interface Claim extends KubeObject {
  readonly spec: { readonly volumeName?: string };
  readonly status?: { readonly phase?: string };
}

/** Far above anything seen: machines are shared. */
export const patient = { timeout: 240_000, interval: 250 } as const;

/** The claims of one class in one sandbox; both go together. */
export class Claims implements AsyncDisposable {
  readonly #cluster: Cluster;
  readonly #namespace: string;
  readonly className: string;
  readonly #made: { readonly namespace: string; readonly name: string }[] = [];
  readonly #buckets = new Map<string, string>();
  static #count = 0;

  private constructor(sandbox: Sandbox) {
    this.#cluster = sandbox.cluster;
    this.#namespace = sandbox.name;
    Claims.#count += 1;
    this.className = `${sandbox.name}-${Claims.#count}`;
  }

  static async ofClass(sandbox: Sandbox, wish: ClassWish = {}): Promise<Claims> {
    const claims = new Claims(sandbox);
    await sandbox.cluster.apply({
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: claims.className },
      provisioner: "s3.csi.scality.com",
      ...wish,
    });
    return claims;
  }

  /** Does not wait for anything; gives the claim's UID. */
  async claim(name: string, wish: ClaimWish = {}): Promise<string> {
    const { namespace = this.#namespace, annotations = {}, accessMode = "ReadWriteMany", storage = "1Gi" } = wish;
    this.#made.push({ namespace, name });
    await this.#cluster.apply({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name, namespace, annotations },
      spec: {
        storageClassName: this.className,
        accessModes: [accessMode],
        volumeMode: wish.volumeMode,
        resources: { requests: { storage } },
      },
    });
    return (await this.#cluster.get("pvc", name, "-n", namespace))?.metadata.uid ?? "";
  }

  /** Until the claim is bound; gives its volume. */
  async bound(name: string, namespace = this.#namespace): Promise<BoundVolume> {
    await this.#cluster.kubectl(
      ...["wait", "--for=jsonpath={.status.phase}=Bound", `pvc/${name}`, "-n", namespace, "--timeout=240s"],
    );
    const claim = await this.#cluster.get<Claim>("pvc", name, "-n", namespace);
    const volume = await this.#cluster.get<BoundVolume>("pv", claim?.spec.volumeName ?? "");
    if (volume === undefined) throw new Error(`claim ${name} is bound to nothing`);
    const { bucketName = "", prefix } = volume.spec.csi.volumeAttributes;
    if (prefix === undefined) this.#buckets.set(bucketName, volume.metadata.name);
    return volume;
  }

  async volume(name: string, wish: ClaimWish = {}): Promise<BoundVolume> {
    await this.claim(name, wish);
    return await this.bound(name, wish.namespace);
  }

  async deleteClaim(name: string, namespace = this.#namespace): Promise<void> {
    await this.#cluster.kubectl("delete", "pvc", name, "-n", namespace, "--ignore-not-found", "--wait=true");
  }

  /** Deletes the claim and waits until its volume is gone, too. */
  async deleteVolume(name: string, { metadata }: KubeObject): Promise<void> {
    await this.deleteClaim(name);
    await this.#cluster.kubectl("wait", "--for=delete", `pv/${metadata.name}`, "--timeout=240s");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A claim in use does not go, and a test that failed leaves its Pods: it would wait for them, and not say why it failed.
    await this.#cluster.kubectl("delete", "pod", "--all", "-n", this.#namespace);
    for (const { namespace, name } of this.#made) await this.deleteClaim(name, namespace);
    await this.#cluster.kubectl("delete", "storageclass", this.className);
    for (const volume of this.#buckets.values()) {
      await this.#cluster.kubectl("wait", "--for=delete", `pv/${volume}`, "--timeout=240s");
    }
    // Whatever was kept on purpose.
    const left = await bucketNames(this.#cluster.s3);
    for (const bucket of left.filter((each) => this.#buckets.has(each))) await this.#cluster.removeBucket(bucket);
  }
}

export type SecretUse = "provisioner" | "node-publish";

/** The two parameters of a class that name a Secret; both may be templates. */
export function secretFor(use: SecretUse, name: string, namespace: string): Readonly<Record<string, string>> {
  return {
    [`csi.storage.k8s.io/${use}-secret-name`]: name,
    [`csi.storage.k8s.io/${use}-secret-namespace`]: namespace,
  };
}

/** Messages of the events about an object, oldest first. */
export async function eventsAbout(
  cluster: Cluster,
  name: string,
  namespace = "default",
): Promise<readonly CoreEvent[]> {
  return await cluster.list<CoreEvent>("events", "-n", namespace, "--field-selector", `involvedObject.name=${name}`);
}

export async function bucketNames(s3: S3Client): Promise<readonly string[]> {
  const { Buckets = [] } = await s3.send(new ListBucketsCommand({}));
  return Buckets.map(({ Name = "" }) => Name);
}

export async function tagsOf(s3: S3Client, bucket: string): Promise<Readonly<Record<string, string>>> {
  const { TagSet = [] } = await s3.send(new GetBucketTaggingCommand({ Bucket: bucket }));
  return Object.fromEntries(TagSet.map(({ Key = "", Value = "" }) => [Key, Value]));
}

/** From now on the bucket forgets nothing. */
export async function keepVersions(s3: S3Client, bucket: string): Promise<void> {
  const VersioningConfiguration = { Status: "Enabled" } as const;
  await s3.send(new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration }));
}
