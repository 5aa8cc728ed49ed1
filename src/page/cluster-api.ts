/** What following a cluster needs of an API server. The plugin reads with the rights of its user, the server in the cluster with its own. */

export interface ClusterApi {
  /** How the page calls the cluster. */
  readonly context: string;
  /** Rejects with an error that has the HTTP status as its `code` if the API server refuses. */
  readonly json: <Shape>(signal: AbortSignal, request: { readonly path: string }) => Promise<Shape>;
  /** Resolves when the server has accepted the request. The stream ends when the server ends it or the signal aborts. */
  readonly lines: (signal: AbortSignal, path: string) => Promise<AsyncGenerator<string>>;
}

const refusals: ReadonlySet<unknown> = new Set([401, 403, 404]);

/** The server does not show this collection, or does not know it: others may still be readable. */
export function isRefused(error: unknown): boolean {
  return error instanceof Error && "code" in error && refusals.has(error.code);
}
