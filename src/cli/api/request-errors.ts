/** Why a request to the API server failed, in words for the terminal. */
import type { ApiRequest } from "./api-server.ts";

/** The API server answered, and refused. */
export class RequestRefusedError extends Error {
  override readonly name = "RequestRefusedError";
  readonly code: number;

  constructor(code: number, { method = "GET", path }: ApiRequest, answer: string) {
    super(`the API server refused ${method} ${path.split("?")[0]} with ${code}: ${messageIn(answer)}`);
    this.code = code;
  }
}

/** There was no answer. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";

  constructor(server: URL, cause: Error) {
    super(`the API server ${server.origin} does not answer: ${cause.message}`, { cause });
  }
}

/** The server refuses because of rights: something else may still be readable. */
export function isForbidden(error: unknown): boolean {
  return error instanceof RequestRefusedError && (error.code === 403 || error.code === 401);
}

export function isNotFound(error: unknown): boolean {
  return error instanceof RequestRefusedError && error.code === 404;
}

function messageIn(answer: string): string {
  try {
    return (JSON.parse(answer) as { message?: string }).message ?? answer;
  } catch {
    return answer.slice(0, 500);
  }
}
