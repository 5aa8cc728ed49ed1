/** TLS connections that trust the certificates of now, not those of the program's start. */
import { Agent, type AgentOptions, type RequestOptions } from "node:https";
import { createSecureContext, type SecureContext } from "node:tls";
import type { Credentials, TlsMaterial } from "./credentials.ts";

/**
 * Reads the credentials for every new connection. Open connections stay: they were verified when they were made.
 *
 * When the authority of a cluster is rotated, kubelet replaces `ca.crt` in the service account's volume under the running
 * container. Node's own agent keeps the context that it was made with, so every connection after the first broken one would be
 * refused until the program is started again.
 */
export class TlsAgent extends Agent {
  readonly #credentials: Pick<Credentials, "tls">;
  #material: TlsMaterial;
  #context: SecureContext;

  /** Throws if the certificates cannot be read or parsed now. */
  constructor(credentials: Pick<Credentials, "tls">, options: AgentOptions) {
    // A resumed session skips the verification, so it would stay trusted after its authority is not.
    super({ ...options, maxCachedSessions: 0 });
    this.#credentials = credentials;
    this.#material = credentials.tls();
    this.#context = contextOf(this.#material);
  }

  override createConnection(...[options, ...rest]: Parameters<Agent["createConnection"]>) {
    return super.createConnection({ ...options, secureContext: this.#currentContext() } as RequestOptions, ...rest);
  }

  /** Parsing an authority costs a millisecond, so the context is kept until the certificates change. */
  #currentContext(): SecureContext {
    const material = this.#credentials.tls();
    if (!isSame(material, this.#material)) {
      this.#context = contextOf(material);
      this.#material = material;
    }
    return this.#context;
  }
}

function contextOf({ key, ...certificates }: TlsMaterial): SecureContext {
  return createSecureContext({ ...certificates, key: key?.reveal() });
}

function isSame(a: TlsMaterial, b: TlsMaterial): boolean {
  return a.ca?.toString() === b.ca?.toString() && a.cert?.toString() === b.cert?.toString() && hasSameKey(a, b);
}

function hasSameKey({ key: a }: TlsMaterial, { key: b }: TlsMaterial): boolean {
  return a === undefined || b === undefined ? a === b : a.equals(b);
}
