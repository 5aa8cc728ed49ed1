/** How to reach and convince the API server: from inside a Pod, or from a kubeconfig file. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DriverError } from "../core/errors.ts";
import { Secret } from "../runtime/secret.ts";

export interface Credentials {
  readonly server: URL;
  readonly tls: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Secret };
  /** Asked again for every request, because kubelet replaces the token long before it expires. */
  token(): Secret | undefined;
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
    tls: { ca: readFileSync(resolve(serviceAccountDir, "ca.crt")) },
    token: tokenIn(resolve(serviceAccountDir, "token")),
  };
}

/** Reads the current context. Client certificates and tokens are known; login plugins are not. */
export function kubeconfigCredentials(path: string): Credentials {
  const config = parseKubeconfig(path);
  const context = named(path, config, "contexts", config["current-context"])["context"] as Entry;
  const cluster = named(path, config, "clusters", context["cluster"])["cluster"] as Entry;
  const user = named(path, config, "users", context["user"])["user"] as Entry;

  const content = (entry: Entry, field: string): Buffer | undefined => {
    const inline = entry[`${field}-data`];
    if (typeof inline === "string") return Buffer.from(inline, "base64");
    const file = entry[field];
    return typeof file === "string" ? readFileSync(resolve(dirname(path), file)) : undefined;
  };
  const ca = content(cluster, "certificate-authority");
  const cert = content(user, "client-certificate");
  const key = content(user, "client-key");
  return {
    server: new URL(String(cluster["server"])),
    tls: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key: new Secret(key.toString()) }) },
    token: userToken(path, user),
  };
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
