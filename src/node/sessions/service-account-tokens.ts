/** The tokens of a workload's service account, which kubelet sends for a driver with `tokenRequests`. */
import { DriverError } from "../../core/errors.ts";
import type { ServiceAccount } from "../../core/identity.ts";
import { Secret } from "../../runtime/secret.ts";
import { claimsOf } from "../../s3/sts/web-identity-token.ts";

/** Among the secrets with `serviceAccountTokenInSecrets` of the CSIDriver object (Kubernetes 1.35), else in the volume context. */
const tokensKey = "csi.storage.k8s.io/serviceAccount.tokens";

type Texts = Readonly<Record<string, string>>;

interface WithTokens {
  readonly secrets: Texts;
  readonly volumeContext: Texts;
}

/** The content of the Secret that the volume names: kubelet puts tokens beside it. */
export function withoutTokens({ [tokensKey]: _tokens, ...secrets }: Texts): Texts {
  return secrets;
}

/** Throws if kubelet sent no token for the audience, or one of another account. */
export function tokenIn({ secrets, volumeContext }: WithTokens, audience: string, account: ServiceAccount): Secret {
  // Attributes of a PersistentVolume may have this key, and stay in the volume context when kubelet puts its tokens into the secrets. No
  // Secret can have it: names of data contain no "/". Where kubelet puts its tokens, they replace what has the key already.
  const text = secrets[tokensKey] ?? volumeContext[tokensKey];
  const token = text === undefined ? undefined : tokenFor(text, audience);
  if (token === undefined) throw noToken(audience);
  const { subject } = claimsOf(token);
  const expected = `system:serviceaccount:${account.namespace}:${account.name}`;
  // kubelet requests tokens for the account of the Pod only. A volume that brings its own token must not get another account's data.
  if (subject !== expected) {
    throw new DriverError(
      "denied",
      `the service account token is that of ${subject ?? "nobody"}, and the Pod runs as ${expected}`,
    );
  }
  return token;
}

/** As kubelet writes it: `{"AUDIENCE": {"token": "…", "expirationTimestamp": "…"}}`. */
function tokenFor(text: string, audience: string): Secret | undefined {
  try {
    const token = (JSON.parse(text) as Record<string, { token?: unknown } | undefined>)[audience]?.token;
    return typeof token === "string" && token !== "" ? new Secret(token) : undefined;
  } catch {
    return undefined; // without the error: it quotes the text
  }
}

function noToken(audience: string): DriverError {
  return new DriverError("notReady", `kubelet sent no service account token with the audience ${audience}`, {
    hint: `The CSIDriver object must request it: with the chart value podIdentity.enabled it does (kubectl get csidriver s3.csi.scality.com -o yaml, tokenRequests).`,
  });
}
