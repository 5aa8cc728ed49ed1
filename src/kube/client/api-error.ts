/** A failed answer of the API server: its HTTP code, and the reason and message of its Status object. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: number;
  /** The machine-readable reason of the Status object. Empty if a proxy answered, or no such path is served. */
  readonly reason: string;
  /** How long the server asks clients to wait before the next request. */
  readonly retryAfterMs: number | undefined;

  constructor(code: number, reason: string, message: string, retryAfterMs?: number) {
    super(`${message} (${[code, reason].filter(Boolean).join(" ")})`);
    this.code = code;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }

  /** The server, or a proxy in front of it, has too much to do. */
  get isOverload(): boolean {
    const asksForTime = this.code === 500 && this.retryAfterMs !== undefined;
    return this.code === 429 || this.code === 503 || this.code === 504 || asksForTime;
  }

  /** Says something about the server and nothing about the request: the same request may succeed later. */
  get isServerState(): boolean {
    return this.isOverload || this.code === 500;
  }

  /** The object has changed since it was read, or a precondition of a delete does not hold. */
  get isConflict(): boolean {
    return this.reason === "Conflict";
  }

  get isAlreadyExists(): boolean {
    return this.reason === "AlreadyExists";
  }

  /** There is no such object. False for a kind that the server does not serve, which is a 404 without a reason. */
  get isNotFound(): boolean {
    return this.reason === "NotFound";
  }

  /** The account lacks a right. */
  get isForbidden(): boolean {
    return this.code === 403;
  }

  /** etcd has compacted the requested version away: only a new list helps. */
  get isGone(): boolean {
    return this.code === 410;
  }
}

/** `body` is a Status object, unless a proxy in front of the API server answered. `retryAfter` is the header of that name. */
export function apiErrorFrom(code: number, body: string, retryAfter?: string): ApiError {
  const retryAfterMs = retryAfterMsFrom(retryAfter);
  const status = parseStatus(body);
  return status === undefined
    ? new ApiError(code, "", excerpt(body) || "the API server gave no explanation", retryAfterMs)
    : statusError(status, code, retryAfterMs);
}

/** The part of a Status object that we read. */
export interface Status {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly retryAfterSeconds?: number };
}

/** A watch reports failures as objects inside of a successful answer, so there is neither a failed HTTP code nor a header. */
export function statusError(status: Status, code = 500, retryAfterMs?: number): ApiError {
  const { reason = "", message = "the API server gave no explanation", details } = status;
  const asked = details?.retryAfterSeconds ? 1000 * details.retryAfterSeconds : undefined;
  return new ApiError(status.code ?? code, reason, message, retryAfterMs ?? asked);
}

/** The API server sends seconds. A proxy may send a date, which its clock may have made of anything: only seconds count. */
function retryAfterMsFrom(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,6}$/.test(header.trim()) ? 1000 * Number(header) : undefined;
}

function parseStatus(body: string): Status | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === "object" && parsed !== null && "kind" in parsed && parsed.kind === "Status"
      ? (parsed as Status)
      : undefined;
  } catch {
    return undefined; // not JSON: the caller shows the text
  }
}

/** Load balancers answer with whole HTML pages; the beginning is enough. */
function excerpt(body: string): string {
  return body.replaceAll(/\s+/g, " ").trim().slice(0, 200);
}
