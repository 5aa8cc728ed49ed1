/**
 * Whether a caller may do something. unauthenticated: it is not known who the caller is. forbidden: the caller lacks the right.
 * unknown: the API server could not be asked.
 */
export type Access =
  | { readonly is: "allowed" }
  | { readonly is: "unauthenticated" | "forbidden" | "unknown"; readonly because: string };
