/** The object stores of an installation: the default one, and those that the chart value s3.stores lists (ID-4). */

export type StoreName = string & { readonly __brand: "StoreName" };

/** The store of `s3.endpointUrl`, which volumes have that name no store. */
export const defaultStore = "default" as StoreName;

export interface Store {
  readonly name: StoreName;
  readonly endpointUrl: string;
  /** Addresses that the store had before: volumes that name one of them are served at `endpointUrl`. */
  readonly formerEndpointUrls: readonly string[];
  /** Region for which requests are signed, unless a volume or Secret names another. */
  readonly region: string;
  /** Whether requests have the bucket in the path; otherwise it is part of the host name. */
  readonly pathStyle: boolean;
  /** Certificates (PEM) that are trusted in addition to the public ones; undefined: those of the installation. */
  readonly caCertificates: string | undefined;
  /** Of uploads, for volumes that ask for none; undefined: the default of mount-s3. */
  readonly uploadChecksums: UploadChecksums | undefined;
  /** The driver's credentials for this store; undefined for the default store, whose Secret is configured elsewhere. */
  readonly credentials: StoreCredentials | undefined;
  /** Where service account tokens are exchanged for credentials; undefined: volumes cannot have `authenticationSource: pod`. */
  readonly sts: StsSettings | undefined;
}

export const uploadChecksums = ["crc32c", "crc64nvme", "off"] as const;
export type UploadChecksums = (typeof uploadChecksums)[number];

/** A Secret in the namespace of the release, and the names of its fields. */
export interface StoreCredentials {
  readonly secret: string;
  readonly accessKeyIdField: string;
  readonly secretAccessKeyField: string;
  readonly sessionTokenField: string;
}

export interface StsSettings {
  readonly endpointUrl: string;
  /** Certificates (PEM) as for the store; undefined: those of the store. */
  readonly caCertificates: string | undefined;
  /** The audience of the tokens. */
  readonly audience: string;
  /** The role for volumes and accounts that name none; undefined: the store derives rights from the token alone. */
  readonly roleArn: string | undefined;
  /** How long credentials are asked to last. */
  readonly sessionSeconds: number;
  /** Whether buckets are created and deleted with credentials for the controller's own service account, and its role. */
  readonly provisioner: { readonly roleArn: string | undefined } | undefined;
}

/** Every store by its name; the default store is always among them. */
export type Stores = ReadonlyMap<StoreName, Store>;

/** The chart value that has the settings of a store, for messages. */
export function valueOfStore(name: StoreName): string {
  return name === defaultStore ? "s3" : `s3.stores.${name}`;
}

export function storeNames(stores: Stores): string {
  return [...stores.keys()].join(", ");
}
