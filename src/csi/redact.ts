/**
 * A request without its secrets, for the log. The CSI specification marks secret fields with `csi_secret`, and all of them are
 * called `secrets` (a test reads the specification to be sure). Tokens that kubelet requests for a driver with `tokenRequests`
 * arrive in the volume context.
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
