/** The settings of Mountpoint Pods that are more than a word, each read or reported as a problem. */

import { type ContainerResources, defaultResources, type ResourceList } from "../core/container-resources.ts";
import { parseQuantity } from "../core/quantity.ts";
import type { Problems } from "../runtime/problems.ts";
import type { CaBundle } from "./domain/ca-bundle.ts";
import type { MountpointPodConfig } from "./domain/mountpoint-pod.ts";

/** JSON as in a container of a Pod; amounts may be numbers, because YAML makes such of `cpu: 1`. */
export function resourcesFrom(text: string | undefined, problems: Problems): ContainerResources {
  if (text === undefined) return defaultResources;
  const { requests, limits } = (parsed(text) ?? {}) as Readonly<Record<string, unknown>>;
  const resources = { requests: resourceList(requests), limits: resourceList(limits) };
  if (isObject(parsed(text)) && resources.requests !== undefined && resources.limits !== undefined) {
    return { requests: resources.requests, limits: resources.limits };
  }
  problems.add(`--mountpoint-resources is not a JSON object with requests and limits: ${text}`);
  return defaultResources;
}

/** Every taint, unless told otherwise: a workload that runs on a node needs its Mountpoint Pod there. */
export function tolerationsFrom(text: string | undefined, problems: Problems): readonly object[] {
  const tolerations = text === undefined ? [{ operator: "Exists" }] : parsed(text);
  if (Array.isArray(tolerations) && tolerations.every(isObject)) return tolerations;
  problems.add(`--mountpoint-tolerations is not a JSON list of tolerations: ${text}`);
  return [];
}

export function namesFrom(text = ""): readonly string[] {
  return text.split(",").flatMap((name) => name.trim() || []);
}

type TextsFlag = "mountpoint-labels" | "mountpoint-annotations";

/** JSON object of texts. */
export function textsFrom<Flag extends TextsFlag>(
  flag: Flag,
  given: Read<Flag>,
  problems: Problems,
): Readonly<Record<string, string>> {
  const texts = parsed(given(flag) ?? "{}");
  if (isObject(texts) && Object.values(texts).every((text) => typeof text === "string")) return { ...texts };
  problems.add(`--${flag} is not a JSON object of texts: ${given(flag)}`);
  return {};
}

export function userByFrom(text: string | undefined, problems: Problems): MountpointPodConfig["userBy"] {
  if (text === undefined || text === "driver") return "driver";
  if (text !== "platform") problems.add(`--mountpoint-user-by is neither driver nor platform: ${text}`);
  return "platform";
}

type Read<Flag> = (flag: Flag) => string | undefined;

type PolicyFlag = "mountpoint-image-pull-policy" | "tls-init-image-pull-policy" | "headroom-image-pull-policy";

export function pullPolicyFrom<Flag extends PolicyFlag>(flag: Flag, given: Read<Flag>, problems: Problems): string {
  const policy = given(flag) ?? "IfNotPresent";
  if (!pullPolicies.includes(policy)) problems.add(`--${flag} is none of ${pullPolicies.join(", ")}: ${policy}`);
  return policy;
}

const pullPolicies = ["Always", "IfNotPresent", "Never"];

type CaFlag =
  | "mountpoint-image"
  | "tls-ca-cert-configmap"
  | "tls-init-image"
  | "tls-init-image-pull-policy"
  | "tls-init-resources-req-cpu"
  | "tls-init-resources-req-memory"
  | "tls-init-resources-lim-memory";

/** The driver's own image has all that is needed, so no other has to be pulled. */
export function caFrom(given: Read<CaFlag>, problems: Problems): CaBundle | undefined {
  const amount = (flag: CaFlag, otherwise: string) => {
    const value = given(flag) ?? otherwise;
    if (parseQuantity(value) === undefined) problems.add(`--${flag} is not an amount: ${value}`);
    return value;
  };
  const ca = {
    image: given("tls-init-image") ?? given("mountpoint-image") ?? "",
    imagePullPolicy: pullPolicyFrom("tls-init-image-pull-policy", given, problems),
    resources: {
      requests: {
        cpu: amount("tls-init-resources-req-cpu", "10m"),
        memory: amount("tls-init-resources-req-memory", "16Mi"),
      },
      limits: { memory: amount("tls-init-resources-lim-memory", "64Mi") },
    },
  };
  const configMap = given("tls-ca-cert-configmap");
  return configMap === undefined ? undefined : { configMap, ...ca };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // which none of the settings is: the caller reports it
  }
}

/** undefined: not a list of amounts. Absent is an empty one. */
function resourceList(value: unknown): ResourceList | undefined {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) return undefined;
  const amounts = Object.entries(value).map(([name, amount]) => [name, String(amount)] as const);
  return amounts.every(([, amount]) => parseQuantity(amount) !== undefined) ? Object.fromEntries(amounts) : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
