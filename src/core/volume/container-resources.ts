/** How much CPU and memory the container of a Mountpoint Pod asks for and may use. */
import { attributeRefusal, quoted } from "./attribute-refusal.ts";
import { mebibyte, parseQuantity } from "./quantity.ts";

export interface ContainerResources {
  readonly requests: ResourceList;
  readonly limits: ResourceList;
}

/** Name of a resource → amount, as Kubernetes writes it. */
export type ResourceList = Readonly<Record<string, string>>;

/** Enough to start; what mount-s3 takes on top depends on the workload. */
export const defaultResources: ContainerResources = { requests: { cpu: "10m", memory: "32Mi" }, limits: {} };

/** mount-s3 does not go below this target; under a smaller limit it can be killed while it does as it is told. */
export const leastMemoryMib = 512;

/** What a volume asks for. */
export function parseContainerResources(raw: Readonly<Record<string, string>>): ContainerResources {
  const resources = {
    requests: parseList(raw, "Requests"),
    limits: parseList(raw, "Limits"),
  };
  for (const [resource, suffix] of suffixes) {
    const { requests, limits } = resources;
    const request = requests[resource];
    const limit = limits[resource];
    if (request !== undefined && limit !== undefined && isLess(limit, request)) {
      throw attributeRefusal(
        `${prefix}Limits${suffix}`,
        `${quoted(limit)} is less than the request ${quoted(request)}`,
        `raise the limit, or lower ${prefix}Requests${suffix}`,
      );
    }
  }
  return resources;
}

/**
 * What the volume says, and the installation's defaults for the rest. A default gives way where it would contradict the
 * volume: Kubernetes refuses a Pod with a limit below its request.
 */
export function effectiveResources(defaults: ContainerResources, volume: ContainerResources): ContainerResources {
  const requests = { ...defaults.requests, ...volume.requests };
  const limits = { ...defaults.limits, ...volume.limits };
  const contradicts = (name: string) => {
    const limit = limits[name];
    const request = requests[name];
    return limit !== undefined && request !== undefined && isLess(limit, request);
  };
  return {
    requests: mapped(requests, (name, own) => (volume.limits[name] && contradicts(name) ? volume.limits[name] : own)),
    limits: mapped(limits, (name, own) => (volume.requests[name] && contradicts(name) ? volume.requests[name] : own)),
  };
}

/** undefined: there is no limit. */
export function memoryLimitMib({ limits }: ContainerResources): number | undefined {
  const bytes = parseQuantity(limits["memory"] ?? "");
  return bytes === undefined ? undefined : Math.floor(bytes / mebibyte);
}

const prefix = "mountpointContainerResources";

const suffixes = [
  ["cpu", "Cpu"],
  ["memory", "Memory"],
] as const;

/** The attributes that `parseContainerResources` reads. */
export const resourceAttributes: readonly string[] = suffixes.flatMap(([, suffix]) => [
  `${prefix}Requests${suffix}`,
  `${prefix}Limits${suffix}`,
]);

function parseList(raw: Readonly<Record<string, string>>, kind: "Requests" | "Limits"): ResourceList {
  const given = suffixes.flatMap(([resource, suffix]) => {
    const value = raw[`${prefix}${kind}${suffix}`];
    return value ? [[resource, checked(`${prefix}${kind}${suffix}`, value, examples[resource])] as const] : [];
  });
  return Object.fromEntries(given);
}

const examples = { cpu: "500m or 2", memory: "512Mi or 2Gi" } as const;

function checked(attribute: string, value: string, example: string): string {
  const amount = parseQuantity(value);
  if (amount !== undefined && amount > 0) return value;
  throw attributeRefusal(attribute, `${quoted(value)} is not an amount`, `write one such as ${example}`);
}

function isLess(a: string, b: string): boolean {
  return (parseQuantity(a) ?? 0) < (parseQuantity(b) ?? 0);
}

function mapped(list: ResourceList, change: (name: string, amount: string) => string): ResourceList {
  return Object.fromEntries(Object.entries(list).map(([name, amount]) => [name, change(name, amount)]));
}
