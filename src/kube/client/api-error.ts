/** A failed answer of the API server: its HTTP code, and the reason and message of its Status object. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: number;
  /** The machine-readable reason of the Status object. Empty if a proxy answered, or no such path is served. */
  readonly reason: string;

  constructor(code: number, reason: string, message: string) {
    super(`${message} (${[code, reason].filter(Boolean).join(" ")})`);
    this.code = code;
    this.reason = reason;
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

/** `body` is a Status object, unless a proxy in front of the API server answered. */
export function apiErrorFrom(code: number, body: string): ApiError {
  const status = parseStatus(body);
  if (status === undefined) return new ApiError(code, "", excerpt(body) || "the API server gave no explanation");
  return statusError(status, code);
}

/** The part of a Status object that we read. */
export interface Status {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
}

/** A watch reports failures as objects inside of a successful answer, so there is no failed HTTP code. */
export function statusError(status: Status, code = 500): ApiError {
  return new ApiError(status.code ?? code, status.reason ?? "", status.message ?? "the API server gave no explanation");
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
