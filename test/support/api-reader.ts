/**
 * Reads objects as `kubectl get` does, without a program for each question: a poll that starts kubectl five times a second
 * keeps half a core busy, and several labs run at the same time.
 */
import { parseArgs } from "node:util";
import { ApiError } from "../../src/kube/api-error.ts";
import { kubeconfigCredentials } from "../../src/kube/credentials.ts";
import { Transport } from "../../src/kube/transport.ts";
import type { Call } from "../../src/runtime/call.ts";
import { silentLogger } from "../../src/runtime/log.ts";

interface Resource {
  readonly names: readonly string[];
  readonly api: string;
  readonly isNamespaced: boolean;
}

/** Those that tests ask for in a loop; kubectl knows the others. The last name is the one in paths. */
const resources: readonly Resource[] = [
  { names: ["pod", "pods"], api: "/api/v1", isNamespaced: true },
  { names: ["events"], api: "/api/v1", isNamespaced: true },
  { names: ["pvc", "persistentvolumeclaims"], api: "/api/v1", isNamespaced: true },
  { names: ["pv", "persistentvolumes"], api: "/api/v1", isNamespaced: false },
  { names: ["node", "nodes"], api: "/api/v1", isNamespaced: false },
  { names: ["s3pa", "mountpoints3podattachments"], api: "/apis/s3.csi.scality.com/v2", isNamespaced: false },
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
  const scope = resource.isNamespaced && isEverywhere !== true ? `/namespaces/${namespace}` : "";
  const collection = `${resource.api}${scope}/${resource.names.at(-1)}`;
  if (asked.name !== undefined) return { path: `${collection}/${asked.name}`, isList: false };
  const selectors = { labelSelector: asked.values.selector, fieldSelector: asked.values["field-selector"] };
  const given = Object.entries(selectors).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { path: `${collection}?${new URLSearchParams(given).toString()}`, isList: true };
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

export class ApiReader {
  readonly #transport: Transport;
  readonly #call: Call = { signal: new AbortController().signal, log: silentLogger };

  constructor(kubeconfig: string) {
    this.#transport = new Transport(kubeconfigCredentials(kubeconfig), { userAgent: "test" });
  }

  /** Undefined if there is no such object. */
  async get(path: string): Promise<object | undefined> {
    try {
      return (await this.#transport.json(this.#call, { method: "GET", path })) as object;
    } catch (error) {
      if (error instanceof ApiError && error.isNotFound) return undefined;
      throw error;
    }
  }

  async list(path: string): Promise<readonly object[]> {
    const { items } = (await this.#transport.json(this.#call, { method: "GET", path })) as { items: object[] };
    return items;
  }
}
