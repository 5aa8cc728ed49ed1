/** Address and credentials of the API server: of a Pod, or from a kubeconfig file. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DriverError } from "../../core/errors.ts";
import { Secret } from "../../runtime/secret.ts";

export interface Credentials {
  readonly server: URL;
  /**
   * Called for every connection: kubelet replaces `ca.crt` when the authority of the cluster is rotated, and operators replace the
   * files that a kubeconfig names. Throws if a file cannot be read.
   */
  tls(): TlsMaterial;
  /** Called for every request, because kubelet replaces the token long before it expires. Throws if its file cannot be read. */
  token(): Secret | undefined;
}

/** PEM. Without `ca`, the authorities of the system are trusted. */
export interface TlsMaterial {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Secret;
}

export interface InClusterOptions {
  /** KUBERNETES_SERVICE_HOST: an address, IPv6 without brackets. */
  readonly host: string;
  /** KUBERNETES_SERVICE_PORT. */
  readonly port: string;
  /** Where kubelet puts `token` and `ca.crt`. */
  readonly serviceAccountDir?: string;
}

/** The service account of the Pod. Reads its files later, with every connection and request. */
export function inClusterCredentials(options: InClusterOptions): Credentials {
  const { host, port, serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount" } = options;
  return {
    server: new URL(`https://${host.includes(":") ? `[${host}]` : host}:${port}`),
    tls: () => ({ ca: readFileSync(resolve(serviceAccountDir, "ca.crt")) }),
    token: tokenIn(resolve(serviceAccountDir, "token")),
  };
}

/** Of the current context. Supports client certificates and tokens, and no login plugins. Throws if the file cannot be used. */
export function kubeconfigCredentials(path: string): Credentials {
  const config = parseKubeconfig(path);
  const context = named(path, config, "contexts", config["current-context"])["context"] as Entry;
  const cluster = named(path, config, "clusters", context["cluster"])["cluster"] as Entry;
  const user = named(path, config, "users", context["user"])["user"] as Entry;

  return {
    server: new URL(String(cluster["server"])),
    tls: () => {
      const ca = contentOf(path, cluster, "certificate-authority");
      const cert = contentOf(path, user, "client-certificate");
      const key = contentOf(path, user, "client-key");
      return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key: new Secret(key.toString()) }) };
    },
    token: userToken(path, user),
  };
}

/** The kubeconfig holds the content itself, or names a file relative to its own directory. */
function contentOf(path: string, entry: Entry, field: string): Buffer | undefined {
  const inline = entry[`${field}-data`];
  if (typeof inline === "string") return Buffer.from(inline, "base64");
  const file = entry[field];
  return typeof file === "string" ? readFileSync(resolve(dirname(path), file)) : undefined;
}

type Entry = Readonly<Record<string, unknown>>;

function parseKubeconfig(path: string): Entry {
  const text = readFileSync(path, "utf8");
  try {
    return JSON.parse(text) as Entry;
  } catch (error) {
    throw new DriverError("invalid", `${path} is not JSON, the only supported form of a kubeconfig`, {
      cause: error,
      hint: `kubectl config view --kubeconfig=${path} --raw --flatten --minify -o json`,
    });
  }
}

function named(path: string, config: Entry, list: string, name: unknown): Entry {
  const entries = Array.isArray(config[list]) ? (config[list] as readonly Entry[]) : [];
  const found = entries.find((entry) => entry["name"] === name);
  if (found === undefined) throw new DriverError("invalid", `${path} has no entry "${String(name)}" in ${list}`);
  return found;
}

function userToken(path: string, user: Entry): Credentials["token"] {
  const file = user["tokenFile"];
  if (typeof file === "string") return tokenIn(resolve(dirname(path), file));
  const token = typeof user["token"] === "string" ? new Secret(user["token"]) : undefined;
  return () => token;
}

/** Not cached: the file has a few hundred bytes and is in memory. */
function tokenIn(file: string): Credentials["token"] {
  return () => new Secret(readFileSync(file, "utf8").trim());
}
