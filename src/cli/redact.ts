/** Takes credentials out of what a support bundle holds. The driver keeps them out of its logs; this is for what others wrote. */

const mask = "[redacted]";

/** Ids of AWS and Garage, tokens of service accounts, and user information of URLs (proxies). */
const patterns: readonly (readonly [RegExp, string])[] = [
  [/\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b/g, mask],
  [/\bGK[0-9a-f]{24}\b/g, mask],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g, mask],
  [/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@"']+@/gi, `$1${mask}@`],
  [
    /((?:secret|session|access)[-_ ]?(?:access)?[-_ ]?(?:key|token)(?:[-_ ]?id)?["']?\s*[:=]\s*["']?)[^\s"',}&]+/gi,
    `$1${mask}`,
  ],
  [/(X-Amz-(?:Signature|Credential|Security-Token)=)[^&\s"']+/gi, `$1${mask}`],
];

export function redactedText(text: string): string {
  return patterns.reduce((rest, [pattern, replacement]) => rest.replaceAll(pattern, replacement), text);
}

/** Names of fields whose values are never needed: what a user typed into an object may be a credential. */
const droppedFields = new Set(["managedFields", "kubectl.kubernetes.io/last-applied-configuration"]);

/** Variables whose values are credentials by their name. */
const secretName = /key|secret|token|passw|credential/i;

/** Drops what is not needed and masks the values of variables that are credentials by their name. */
export function redactedObject(value: unknown): unknown {
  if (typeof value === "string") return redactedText(value);
  if (Array.isArray(value)) return value.map(redactedObject);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([name]) => !droppedFields.has(name));
  const isSecretVariable = "name" in value && typeof value.name === "string" && secretName.test(value.name);
  return Object.fromEntries(
    fields.map(([name, field]) => {
      const isSecret = isSecretVariable && name === "value" && typeof field === "string";
      return [name, isSecret ? mask : redactedObject(field)];
    }),
  );
}
