/** The stores as the chart passes them to the programs: a JSON object with a member for each, whose members are those of the chart's values. */
import {
  defaultStore,
  type Store,
  type StoreCredentials,
  type StoreName,
  type Stores,
  type StsSettings,
  type UploadChecksums,
  uploadChecksums,
} from "./store.ts";

/** The default store has settings of its own in every program. */
export interface DefaultStoreSettings {
  readonly endpointUrl: string;
  readonly region: string;
}

type Json = Readonly<Record<string, unknown>>;

/** Throws one Error that names every mistake by the chart value. Members that this version does not know are ignored. */
export function storesFrom(usual: DefaultStoreSettings, list: Json): Stores {
  const mistakes: string[] = [];
  const reader = new Reader(mistakes);
  const { [defaultStore]: ofDefault = {}, ...others } = list;
  const stores = new Map<StoreName, Store>();
  const settings = reader.object("s3", ofDefault);
  stores.set(defaultStore, {
    ...shared(reader, "s3", settings),
    ...usual,
    name: defaultStore,
    // Volumes of the default store are as those of 2.x, which had no choice.
    pathStyle: true,
    caCertificates: undefined,
    credentials: undefined,
  });
  for (const [name, given] of Object.entries(others)) {
    const value = `s3.stores.${name}`;
    if (!isStoreName(name)) mistakes.push(`${value}: the name must have 1 to 16 lower case letters, digits and '-'`);
    stores.set(name as StoreName, namedStore(reader, value, { name, given: reader.object(value, given) }));
  }
  if (mistakes.length > 0) throw new Error(mistakes.join("; "));
  return stores;
}

/** It is part of volume handles, whose length is limited. */
function isStoreName(name: string): boolean {
  return /^[a-z0-9]([-a-z0-9]{0,14}[a-z0-9])?$/.test(name);
}

function namedStore(
  reader: Reader,
  value: string,
  { name, given }: { readonly name: string; readonly given: Json },
): Store {
  const endpointUrl = reader.url(`${value}.endpointUrl`, given["endpointUrl"]);
  if (endpointUrl === undefined) reader.mistake(`${value}.endpointUrl must be set: it is the address of the store`);
  return {
    ...shared(reader, value, given),
    name: name as StoreName,
    endpointUrl: endpointUrl ?? "",
    region: reader.text(`${value}.region`, given["region"]) ?? "us-east-1",
    pathStyle: given["pathStyle"] !== false,
    caCertificates: reader.text(`${value}.caCertData`, given["caCertData"]),
    credentials: credentialsOf(reader, `${value}.credentialSecret`, given["credentialSecret"]),
  };
}

/** What the default store may have, too. */
function shared(
  reader: Reader,
  value: string,
  given: Json,
): Pick<Store, "formerEndpointUrls" | "uploadChecksums" | "sts"> {
  const checksums = reader.text(`${value}.uploadChecksums`, given["uploadChecksums"]);
  if (checksums !== undefined && !uploadChecksums.some((known) => known === checksums)) {
    reader.mistake(`${value}.uploadChecksums must be one of ${uploadChecksums.join(", ")}`);
  }
  const former = given["formerEndpointUrls"];
  return {
    formerEndpointUrls: Array.isArray(former)
      ? former.flatMap((url) => reader.url(`${value}.formerEndpointUrls`, url) ?? [])
      : [],
    uploadChecksums: checksums as UploadChecksums | undefined,
    sts: stsOf(reader, `${value}.sts`, given["sts"]),
  };
}

function credentialsOf(reader: Reader, value: string, given: unknown): StoreCredentials | undefined {
  const credentials = reader.object(value, given ?? {});
  const secret = reader.text(`${value}.name`, credentials["name"]);
  if (secret === undefined) return undefined;
  return {
    secret,
    accessKeyIdField: reader.text(`${value}.accessKeyId`, credentials["accessKeyId"]) ?? "access_key_id",
    secretAccessKeyField:
      reader.text(`${value}.secretAccessKey`, credentials["secretAccessKey"]) ?? "secret_access_key",
    sessionTokenField: reader.text(`${value}.sessionToken`, credentials["sessionToken"]) ?? "session_token",
  };
}

/** Sessions of STS last at least 15 minutes everywhere, and at most 12 hours. */
const sessionSeconds = { least: 900, most: 43_200, usual: 3600 } as const;

function stsOf(reader: Reader, value: string, given: unknown): StsSettings | undefined {
  const sts = reader.object(value, given ?? {});
  const endpointUrl = reader.url(`${value}.endpointUrl`, sts["endpointUrl"]);
  if (endpointUrl === undefined) return undefined;
  const { durationSeconds = sessionSeconds.usual } = sts;
  const { least, most } = sessionSeconds;
  if (typeof durationSeconds !== "number" || !(durationSeconds >= least && durationSeconds <= most)) {
    reader.mistake(`${value}.durationSeconds must be a number from ${least} to ${most}`);
  }
  const provisioner = reader.object(`${value}.provisioner`, sts["provisioner"] ?? {});
  return {
    endpointUrl,
    caCertificates: reader.text(`${value}.caCertData`, sts["caCertData"]),
    audience: reader.text(`${value}.audience`, sts["audience"]) ?? "sts.amazonaws.com",
    roleArn: reader.text(`${value}.roleArn`, sts["roleArn"]),
    sessionSeconds: Math.floor(Number(durationSeconds)),
    provisioner:
      provisioner["enabled"] === true
        ? { roleArn: reader.text(`${value}.provisioner.roleArn`, provisioner["roleArn"]) }
        : undefined,
  };
}

/** Reads members and collects the mistakes. Empty texts count as absent: that is how values of a chart are left out. */
class Reader {
  readonly #mistakes: string[];

  constructor(mistakes: string[]) {
    this.#mistakes = mistakes;
  }

  mistake(text: string): void {
    this.#mistakes.push(text);
  }

  object(value: string, given: unknown): Json {
    if (typeof given === "object" && given !== null && !Array.isArray(given)) return given as Json;
    this.mistake(`${value} must be a map`);
    return {};
  }

  text(value: string, given: unknown): string | undefined {
    if (given === undefined || given === null) return undefined;
    if (typeof given === "string") return given.trim() || undefined;
    this.mistake(`${value} must be a text`);
    return undefined;
  }

  /** A mistake does not show the URL, which may carry a password. URLs of stores are shown in events, logs and notes. */
  url(value: string, given: unknown): string | undefined {
    const text = this.text(value, given);
    if (text === undefined) return undefined;
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol)) {
      this.mistake(`${value} must be a URL such as https://s3.example.com`);
    } else if (url.username !== "" || url.password !== "") {
      this.mistake(`${value} must not have a user name or password: credentials belong into a Secret`);
    }
    return text;
  }
}
