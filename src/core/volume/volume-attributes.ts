/** The only place that reads the volume's string map. Past this line a volume is typed or it is refused. */

import type { CredentialSource } from "../identity.ts";
import type { StoreReference } from "../stores/store-of.ts";
import { quoted, attributeRefusal as refusal } from "./attribute-refusal.ts";
import { type CacheVolume, parseCacheVolume } from "./cache-volume.ts";
import { type ContainerResources, parseContainerResources } from "./container-resources.ts";
import { type PidNamespace, parsePidNamespace } from "./pid-namespace.ts";
import { type Proxy, parseProxy } from "./proxy.ts";

export interface VolumeAttributes {
  readonly bucket: string;
  readonly authenticationSource: CredentialSource;
  /** With `authenticationSource: pod`: the role that its workloads assume; undefined: that of their account, else of the store. */
  readonly roleArn: string | undefined;
  /** As given: the installation knows which stores there are. */
  readonly store: StoreReference;
  /** Account of the Mountpoint Pod; undefined: the default of its namespace. */
  readonly serviceAccountName: string | undefined;
  /** undefined: the driver's own region. A `region` mount option beats both. */
  readonly region: string | undefined;
  /** Where in the bucket the volume lies, with a slash at its end; undefined: it is the whole bucket. */
  readonly prefix: string | undefined;
  /** Of the Mountpoint Pod's container, as far as the volume says; the installation has defaults for the rest. */
  readonly resources: ContainerResources;
  /** undefined: none, unless the mount option `cache` asks for one. */
  readonly cache: CacheVolume | undefined;
  /** undefined: the choice of the installation. */
  readonly pidNamespace: PidNamespace | undefined;
  /** Variables that differ from those of the driver. */
  readonly proxy: Proxy;
}

/** Attributes that nobody knows are left alone: kubelet adds its own, and 2.x ignored the rest. */
export function parseVolumeAttributes(raw: Readonly<Record<string, string>>): VolumeAttributes {
  return {
    bucket: parseBucket(raw["bucketName"]),
    authenticationSource: parseAuthenticationSource(raw["authenticationSource"]),
    roleArn: parseRoleArn(raw),
    store: { store: raw["store"] || undefined, endpointUrl: raw["endpointUrl"] || undefined },
    serviceAccountName: parseServiceAccountName(raw["mountpointPodServiceAccountName"]),
    region: parseRegion(raw["region"]),
    prefix: parsePrefix(raw["prefix"]),
    resources: parseContainerResources(raw),
    cache: parseCacheVolume(raw),
    pidNamespace: parsePidNamespace(raw),
    proxy: parseProxy(raw),
  };
}

function parseBucket(value: string | undefined): string {
  if (!value) throw refusal("bucketName", "is required", "name the bucket of this volume");
  // It stands before the options on mount-s3's command line: there it must not read as one of them.
  if (!/^[A-Za-z0-9]\P{Cc}*$/u.test(value) || value !== value.trim()) {
    throw refusal("bucketName", `${quoted(value)} is not the name of a bucket`, "name the bucket of this volume");
  }
  return value;
}

function parseAuthenticationSource(value: string | undefined): CredentialSource {
  switch (value) {
    case undefined:
    case "":
    case "driver":
      return "driver";
    case "secret":
      return "secret";
    case "pod":
      return "pod";
    default:
      throw refusal(
        "authenticationSource",
        `${quoted(value)} is not known: only "driver", "secret" and "pod" are`,
        'use "driver" (or leave it out) for the keys of the driver, "secret" with a nodePublishSecretRef, or "pod" for the service account of the workload',
      );
  }
}

/** The form of AWS and of every store that copies it. Never shown to a store other than the one of the volume. */
export function isRoleArn(value: string): boolean {
  return value.length <= 2048 && /^arn:[-a-z0-9]+:iam:[-a-z0-9]*:[-\w]*:role\/[\w+=,.@/-]+$/.test(value);
}

function parseRoleArn(raw: Readonly<Record<string, string>>): string | undefined {
  const { roleArn, authenticationSource } = raw;
  if (!roleArn) return undefined;
  if (!isRoleArn(roleArn)) {
    throw refusal("roleArn", `${quoted(roleArn)} is not the ARN of a role`, "write arn:aws:iam::ACCOUNT:role/NAME");
  }
  if (authenticationSource === "pod") return roleArn;
  throw refusal("roleArn", "has no effect without authenticationSource pod", "set authenticationSource to pod");
}

function parseServiceAccountName(value: string | undefined): string | undefined {
  if (!value) return undefined;
  if (value.length <= 253 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(value)) return value;
  throw refusal(
    "mountpointPodServiceAccountName",
    `${quoted(value)} is not the name of a service account`,
    "use lower case letters, digits, '-' and '.'",
  );
}

/** Dynamic volumes in a shared bucket have one; mount-s3 takes nothing but whole directories. */
function parsePrefix(value: string | undefined): string | undefined {
  if (!value) return undefined;
  if (/^[^/\p{Cc}]\P{Cc}*\/$/u.test(value)) return value;
  throw refusal("prefix", `${quoted(value)} is not a prefix`, "end it with a slash, and do not begin it with one");
}

function parseRegion(value: string | undefined): string | undefined {
  if (!value) return undefined;
  if (/^[A-Za-z0-9][-_A-Za-z0-9]*$/.test(value)) return value;
  throw refusal("region", `${quoted(value)} is not the name of a region`, "use a name such as us-east-1");
}
