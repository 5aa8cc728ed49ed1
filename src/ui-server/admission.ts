/** Pure: which requests are looked at at all, before anybody's rights. */
import { isIP } from "node:net";
import { feedPath, pathOf } from "../page/page-responses.ts";

export interface PageRequest {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** What browsers say about the page that sends the request (the header Sec-Fetch-Site). */
  readonly site: string | undefined;
}

export interface Refusal {
  readonly code: 403 | 405;
  readonly because: string;
}

/**
 * A web site whose name resolves to this server (DNS rebinding) would show this page under its own name, and ask for a token there. It
 * cannot change `Host`, which has that name; an address or `localhost` is no name that somebody else could own.
 */
export function refusalOf(request: PageRequest, hosts: readonly string[]): Refusal | undefined {
  const { method, host = "" } = request;
  if (!isKnown(host, hosts))
    return { code: 403, because: `the host ${host} is not among those of this page: add it to ui.hosts of the chart` };
  if (isForeign(request, host)) return { code: 403, because: "requests of other sites are refused" };
  if (method !== "GET") return { code: 405, because: "the page is read-only: only GET is answered" };
  return undefined;
}

/**
 * Without TLS a token is readable on the way, unless the connection comes from the Pod itself: `kubectl port-forward` arrives on loopback,
 * and is encrypted until there. undefined: a token may be sent on this connection.
 */
export function plainRefusalOf(isEncrypted: boolean, peer: string | undefined): Refusal | undefined {
  if (isEncrypted || isLoopback(peer ?? "")) return undefined;
  return {
    code: 403,
    because:
      "tokens are not taken over plain HTTP: use kubectl port-forward, or set ui.tls.secretName of the chart and connect with TLS",
  };
}

function isLoopback(address: string): boolean {
  return address === "::1" || (/^(::ffff:)?127\./i.test(address) && isIP(address) !== 0);
}

function isKnown(host: string, hosts: readonly string[]): boolean {
  const name = hostnameOf(`http://${host}`);
  if (name === undefined) return false;
  return name === "localhost" || isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0 || hosts.includes(name);
}

/** Another site may have a link to the page, but may not read its feed. */
function isForeign({ url, origin, site = "none" }: PageRequest, host: string): boolean {
  if (origin !== undefined && !isOrigin(origin, host)) return true;
  return pathOf(url) === feedPath && site !== "same-origin" && site !== "none";
}

/** A proxy that adds TLS passes `Host` on, but the scheme differs then. */
function isOrigin(origin: string, host: string): boolean {
  return origin === `http://${host}` || origin === `https://${host}`;
}

function hostnameOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}
