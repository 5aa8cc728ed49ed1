/** How to reach and convince the API server: from inside a Pod, or from a kubeconfig file. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DriverError } from "../../core/errors.ts";
import { Secret } from "../../runtime/secret.ts";

export interface Credentials {
  readonly server: URL;
  /**
   * Asked again for every connection: kubelet replaces `ca.crt` when the cluster's authority is rotated, and operators replace
   * the files that a kubeconfig names. Throws if one of them cannot be read.
   */
  tls(): TlsMaterial;
  /** Asked again for every request, because kubelet replaces the token long before it expires. */
  token(): Secret | undefined;
}

/** PEM. Without an authority, that of the system counts. */
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

export function inClusterCredentials(options: InClusterOptions): Credentials {
  const { host, port, serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount" } = options;
  return {
    server: new URL(`https://${host.includes(":") ? `[${host}]` : host}:${port}`),
    tls: () => ({ ca: readFileSync(resolve(serviceAccountDir, "ca.crt")) }),
    token: tokenIn(resolve(serviceAccountDir, "token")),
  };
}

/** Reads the current context. Client certificates and tokens are known; login plugins are not. */
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

/** From the kubeconfig itself, or from the file that it names, relative to its own directory. */
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
    throw new DriverError("invalid", `${path} is not JSON, the only form of kubeconfig we read`, {
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

/** A read of a few hundred bytes in memory, in place of a cache with an age to get wrong. */
function tokenIn(file: string): Credentials["token"] {
  return () => new Secret(readFileSync(file, "utf8").trim());
}
