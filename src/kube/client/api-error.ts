/** An answer of the API server that is not a success: its code, its reason and its own words. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: number;
  /** The machine-readable word of the Status object; empty when a proxy or the bare router answered. */
  readonly reason: string;

  constructor(code: number, reason: string, message: string) {
    super(`${message} (${[code, reason].filter(Boolean).join(" ")})`);
    this.code = code;
    this.reason = reason;
  }

  /** Someone else wrote first, or a precondition of a delete does not hold. */
  get isConflict(): boolean {
    return this.reason === "Conflict";
  }

  get isAlreadyExists(): boolean {
    return this.reason === "AlreadyExists";
  }

  /** No such object. A kind that the server does not serve is a bare 404 without a reason, and must not look the same. */
  get isNotFound(): boolean {
    return this.reason === "NotFound";
  }

  /** The account lacks a right. */
  get isForbidden(): boolean {
    return this.code === 403;
  }

  /** The version asked for has been compacted away: only a new list helps. */
  get isGone(): boolean {
    return this.code === 410;
  }
}

/** From the body of a failed answer, which is a Status object unless something in front of the API server spoke. */
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

/** A watch reports failures as objects inside a successful answer, hence no code from HTTP. */
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
    return undefined; // not JSON: the caller shows the text as it is
  }
}

/** Load balancers answer with whole HTML pages; their beginning says enough. */
function excerpt(body: string): string {
  return body.replaceAll(/\s+/g, " ").trim().slice(0, 200);
}
