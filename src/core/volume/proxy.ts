/** The way of mount-s3 to the object store. Nothing else of its environment is for volumes to set. */
import { attributeRefusal } from "./attribute-refusal.ts";

export const proxyVariables = ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"] as const;

export type ProxyVariable = (typeof proxyVariables)[number];

export type Proxy = Readonly<Partial<Record<ProxyVariable, string>>>;

const prefix = "mountpointEnv.";

/** Whether `parseProxy` reads, or refuses, this attribute. */
export function isProxyAttribute(attribute: string): boolean {
  return attribute.startsWith(prefix);
}

/** The attributes `mountpointEnv.NAME`. An empty one takes away what the driver has. */
export function parseProxy(raw: Readonly<Record<string, string>>): Proxy {
  const given = Object.entries(raw).filter(([attribute]) => isProxyAttribute(attribute));
  return Object.fromEntries(given.map(([attribute, value]) => [variableOf(attribute), checked(attribute, value)]));
}

/** Without the user and password that it may have. */
export function shownProxy(value: string): string {
  return value.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/i, "$1");
}

function variableOf(attribute: string): ProxyVariable {
  const found = proxyVariables.find((variable) => attribute === `${prefix}${variable}`);
  if (found !== undefined) return found;
  throw attributeRefusal(
    attribute,
    "cannot be set for a volume",
    `only ${proxyVariables.join(", ")} can: leave it out, or use a mount option`,
  );
}

function checked(attribute: string, value: string): string {
  if (!/\p{Cc}/u.test(value)) return value;
  // Not shown: a proxy may have a password.
  throw attributeRefusal(attribute, "has control characters", "write it on one line");
}
