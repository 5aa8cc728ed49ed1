/**
 * Reads and writes objects as kubectl does, without a program for each question: a poll that starts kubectl five times a
 * second keeps half a core busy, and several labs run at the same time.
 */
import { parseArgs } from "node:util";
import { ApiError } from "../../src/kube/client/api-error.ts";
import { kubeconfigCredentials } from "../../src/kube/client/credentials.ts";
import { type Exchange, Transport } from "../../src/kube/client/transport.ts";
import type { Call } from "../../src/runtime/call.ts";
import { silentLogger } from "../../src/runtime/log.ts";

interface Resource {
  readonly kind: string;
  readonly names: readonly string[];
  readonly api: string;
  readonly isNamespaced: boolean;
}

/** Those that tests use in a loop; kubectl knows the others. The last name is the one in paths. */
const resources: readonly Resource[] = [
  { kind: "Pod", names: ["pod", "pods"], api: "/api/v1", isNamespaced: true },
  { kind: "Event", names: ["events"], api: "/api/v1", isNamespaced: true },
  { kind: "PersistentVolumeClaim", names: ["pvc", "persistentvolumeclaims"], api: "/api/v1", isNamespaced: true },
  { kind: "PersistentVolume", names: ["pv", "persistentvolumes"], api: "/api/v1", isNamespaced: false },
  { kind: "Node", names: ["node", "nodes"], api: "/api/v1", isNamespaced: false },
  {
    kind: "MountpointS3PodAttachment",
    names: ["s3pa", "mountpoints3podattachments"],
    api: "/apis/s3.csi.scality.com/v2",
    isNamespaced: false,
  },
];

/** What a question in the words of `kubectl get` asks for. */
export interface Question {
  readonly path: string;
  readonly isList: boolean;
}

/** Undefined for a question that only kubectl understands. */
export function questionOf([kind = "", ...words]: readonly string[]): Question | undefined {
  const resource = resources.find(({ names }) => names.includes(kind));
  const asked = parsed(words);
  if (resource === undefined || asked === undefined) return undefined;
  const { namespace = "default", "all-namespaces": isEverywhere } = asked.values;
  const collection = collectionPath(resource, isEverywhere === true ? undefined : namespace);
  if (asked.name !== undefined) return { path: `${collection}/${asked.name}`, isList: false };
  const selectors = { labelSelector: asked.values.selector, fieldSelector: asked.values["field-selector"] };
  const given = Object.entries(selectors).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { path: `${collection}?${new URLSearchParams(given).toString()}`, isList: true };
}

function collectionPath({ api, names, isNamespaced }: Resource, namespace: string | undefined): string {
  return `${api}${isNamespaced && namespace !== undefined ? `/namespaces/${namespace}` : ""}/${names.at(-1)}`;
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** Where the object is; undefined for kinds that only kubectl knows. */
export function pathOf(object: object): string | undefined {
  const { kind, metadata } = object as Manifest;
  const resource = resources.find((one) => one.kind === kind);
  return resource && `${collectionPath(resource, metadata.namespace ?? "default")}/${metadata.name}`;
}

function parsed(words: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true });
    const [name, ...others] = positionals;
    return name === "" || others.length > 0 ? undefined : { values, name };
  } catch {
    // An option of kubectl that is not among ours.
    return undefined;
  }
}

const options = {
  namespace: { type: "string", short: "n" },
  "all-namespaces": { type: "boolean", short: "A" },
  selector: { type: "string", short: "l" },
  "field-selector": { type: "string" },
} as const;

export class ApiObjects {
  readonly #transport: Transport;
  readonly #call: Call = { signal: new AbortController().signal, log: silentLogger };

  constructor(kubeconfig: string) {
    this.#transport = new Transport(kubeconfigCredentials(kubeconfig), { userAgent: "test" });
  }

  /** Undefined if there is no such object. */
  async get(path: string): Promise<object | undefined> {
    return await this.#unlessMissing({ method: "GET", path });
  }

  async list(path: string): Promise<readonly object[]> {
    const { items } = (await this.#transport.json(this.#call, { method: "GET", path })) as { items: object[] };
    return items;
  }

  async create(path: string, body: object): Promise<object> {
    return (await this.#transport.json(this.#call, { method: "POST", path, body })) as object;
  }

  /** As `kubectl apply --server-side`: an unknown field is refused. */
  async apply(path: string, body: object): Promise<void> {
    const query = "fieldManager=test&force=true&fieldValidation=Strict";
    const contentType = "application/apply-patch+yaml";
    await this.#transport.json(this.#call, { method: "PATCH", path: `${path}?${query}`, body, contentType });
  }

  /** Asks for it, and does not wait. Undefined if there is no such object. */
  async delete(path: string): Promise<object | undefined> {
    return await this.#unlessMissing({ method: "DELETE", path });
  }

  async #unlessMissing(exchange: Exchange): Promise<object | undefined> {
    try {
      return (await this.#transport.json(this.#call, exchange)) as object;
    } catch (error) {
      if (error instanceof ApiError && error.isNotFound) return undefined;
      throw error;
    }
  }
}
