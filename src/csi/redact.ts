/**
 * A request as it may be logged. The specification marks secrets with `csi_secret`; every field so marked is
 * called `secrets` (a test reads the specification to be sure). Tokens that kubelet makes for a driver with
 * `tokenRequests` arrive in the volume context instead.
 */
export function redacted(request: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(request).map(([field, value]) => [field, withoutSecrets(field, value)]));
}

const unprintable = "[redacted]";
const tokensKey = "csi.storage.k8s.io/serviceAccount.tokens";

function withoutSecrets(field: string, value: unknown): unknown {
  if (field === "secrets") return unprintable;
  if (field === "volumeContext" && typeof value === "object" && value !== null && tokensKey in value) {
    return { ...value, [tokensKey]: unprintable };
  }
  return value;
}
