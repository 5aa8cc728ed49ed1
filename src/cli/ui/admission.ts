/** Pure: which requests the loopback server answers. */
import { createHash, timingSafeEqual } from "node:crypto";
import { feedPath, pathOf } from "../../page/page-responses.ts";

export interface PageRequest {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly authorization: string | undefined;
}

export interface Admitted {
  readonly port: number;
  readonly token: string;
}

export interface Refusal {
  readonly code: 401 | 403 | 405;
  readonly message: string;
}

/**
 * The name in `Host` is the one in the browser's address bar. A web site whose name resolves to 127.0.0.1 (DNS rebinding) has the rights of
 * a page of ours in the browser, but cannot change that header. Only the feed has data, and demands the token, because other users of the
 * machine reach the port, too.
 */
export function refusalOf(request: PageRequest, { port, token }: Admitted): Refusal | undefined {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  if (!hosts.includes(request.host ?? ""))
    return { code: 403, message: `open http://127.0.0.1:${port}: other names are refused` };
  if (request.origin !== undefined && !hosts.some((host) => request.origin === `http://${host}`))
    return { code: 403, message: "requests of other sites are refused" };
  if (request.method !== "GET") return { code: 405, message: "the page is read-only: only GET is answered" };
  const isData = pathOf(request.path) === feedPath;
  if (isData && !isSameText(request.authorization ?? "", `Bearer ${token}`))
    return { code: 401, message: "open the address that `kubectl s3 ui` has printed: it contains a token" };
  return undefined;
}

/** The time that it takes does not show how much of the token is right. */
function isSameText(a: string, b: string): boolean {
  const [one, other] = [a, b].map((text) => createHash("sha256").update(text).digest());
  return one !== undefined && other !== undefined && timingSafeEqual(one, other);
}
