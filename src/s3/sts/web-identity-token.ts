/** What a service account token says about itself. STS verifies it; here it only helps to choose and to explain. */
import type { Secret } from "../../runtime/secret.ts";

export interface TokenClaims {
  /** `system:serviceaccount:NAMESPACE:NAME`. */
  readonly subject: string | undefined;
  readonly issuer: string | undefined;
  /** In seconds since 1970, by the clock of the API server; 0: unknown. */
  readonly endsAtSeconds: number;
}

/** Unknown claims for a text that is no token: STS refuses it, with its reason. */
export function claimsOf(token: Secret): TokenClaims {
  const [, payload = ""] = token.reveal().split(".");
  const { sub, iss, exp } = parsed(payload);
  return {
    subject: typeof sub === "string" ? sub : undefined,
    issuer: typeof iss === "string" ? iss : undefined,
    endsAtSeconds: typeof exp === "number" ? exp : 0,
  };
}

function parsed(payload: string): Readonly<Record<string, unknown>> {
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString());
    return typeof claims === "object" && claims !== null ? (claims as Record<string, unknown>) : {};
  } catch {
    return {}; // without the error: it quotes the text
  }
}
