/** The settings of Mountpoint Pods. */

import { defaultMountpointNamespace, mounterCommand } from "../core/names.ts";
import { type ContainerResources, defaultResources, type ResourceList } from "../core/volume/container-resources.ts";
import { parseQuantity } from "../core/volume/quantity.ts";
import { json, type Kind, names, oneOf, text } from "../runtime/settings/kinds.ts";
import type { Settings, ValuesOf } from "../runtime/settings/settings.ts";
import type { CaBundle } from "./domain/mountpoint-pod/ca-bundle.ts";

export const pullPolicy = oneOf("Always", "IfNotPresent", "Never");

/** JSON as in a container of a Pod; amounts may be numbers, because YAML makes such of `cpu: 1`. */
const resources = json("a JSON object with requests and limits", (value): ContainerResources | undefined => {
  if (!isObject(value)) return undefined;
  const { requests, limits } = value as Readonly<Record<string, unknown>>;
  const lists = { requests: resourceList(requests), limits: resourceList(limits) };
  if (lists.requests === undefined || lists.limits === undefined) return undefined;
  return { requests: lists.requests, limits: lists.limits };
});

const tolerations = json("a JSON list of tolerations", (value): readonly object[] | undefined =>
  Array.isArray(value) && value.every(isObject) ? value : undefined,
);

const texts = json("a JSON object of texts", (value): Readonly<Record<string, string>> | undefined =>
  isObject(value) && Object.values(value).every((each) => typeof each === "string") ? { ...value } : undefined,
);

const amount: Kind<string> = {
  expected: "an amount such as 10m or 64Mi",
  parse: (given) => (parseQuantity(given) === undefined ? undefined : given),
};

export const mountpointPodSettings = {
  namespace: {
    flag: "mountpoint-namespace",
    variable: "MOUNTPOINT_NAMESPACE",
    kind: text,
    default: defaultMountpointNamespace,
  },
  image: {
    flag: "mountpoint-image",
    variable: "MOUNTPOINT_IMAGE",
    kind: text,
    required: "it is the image of Mountpoint Pods",
  },
  imagePullPolicy: {
    flag: "mountpoint-image-pull-policy",
    variable: "MOUNTPOINT_IMAGE_PULL_POLICY",
    kind: pullPolicy,
    default: "IfNotPresent",
  },
  command: { flag: "mountpoint-container-command", kind: text, default: mounterCommand },
  priorityClassName: {
    flag: "mountpoint-priority-class-name",
    variable: "MOUNTPOINT_PRIORITY_CLASS_NAME",
    kind: text,
    default: "",
  },
  mountpointVersion: {
    flag: "mountpoint-version",
    variable: "MOUNTPOINT_VERSION",
    kind: text,
    required: "it is the version of mount-s3 in the image",
  },
  resources: {
    flag: "mountpoint-resources",
    variable: "MOUNTPOINT_RESOURCES",
    kind: resources,
    default: defaultResources,
  },
  // By default every taint: a workload that runs on a node needs its Mountpoint Pod there.
  tolerations: {
    flag: "mountpoint-tolerations",
    variable: "MOUNTPOINT_TOLERATIONS",
    kind: tolerations,
    default: [{ operator: "Exists" }],
  },
  imagePullSecrets: {
    flag: "mountpoint-image-pull-secrets",
    variable: "MOUNTPOINT_IMAGE_PULL_SECRETS",
    kind: names,
    default: [],
  },
  labels: { flag: "mountpoint-labels", variable: "MOUNTPOINT_LABELS", kind: texts, default: {} },
  annotations: { flag: "mountpoint-annotations", variable: "MOUNTPOINT_ANNOTATIONS", kind: texts, default: {} },
  userBy: {
    flag: "mountpoint-user-by",
    variable: "MOUNTPOINT_USER_BY",
    kind: oneOf("driver", "platform"),
    default: "driver",
  },
} as const satisfies Settings;

export const caSettings = {
  caConfigMap: { flag: "tls-ca-cert-configmap", variable: "TLS_CA_CERT_CONFIGMAP", kind: text },
  caChecksum: { flag: "tls-ca-cert-checksum", variable: "TLS_CA_CERT_CHECKSUM", kind: text, default: "" },
  caImage: { flag: "tls-init-image", variable: "TLS_INIT_IMAGE", kind: text },
  caImagePullPolicy: {
    flag: "tls-init-image-pull-policy",
    variable: "TLS_INIT_IMAGE_PULL_POLICY",
    kind: pullPolicy,
    default: "IfNotPresent",
  },
  caCpu: {
    flag: "tls-init-resources-req-cpu",
    variable: "TLS_INIT_RESOURCES_REQUESTS_CPU",
    kind: amount,
    default: "10m",
  },
  caMemory: {
    flag: "tls-init-resources-req-memory",
    variable: "TLS_INIT_RESOURCES_REQUESTS_MEMORY",
    kind: amount,
    default: "16Mi",
  },
  caMemoryLimit: {
    flag: "tls-init-resources-lim-memory",
    variable: "TLS_INIT_RESOURCES_LIMITS_MEMORY",
    kind: amount,
    default: "64Mi",
  },
} as const satisfies Settings;

/** The driver's own image has all that is needed, so no other has to be pulled. */
export function caFrom(values: ValuesOf<typeof caSettings>, driverImage: string): CaBundle | undefined {
  if (values.caConfigMap === undefined) return undefined;
  return {
    configMap: values.caConfigMap,
    checksum: values.caChecksum,
    image: values.caImage ?? driverImage,
    imagePullPolicy: values.caImagePullPolicy,
    resources: {
      requests: { cpu: values.caCpu, memory: values.caMemory },
      limits: { memory: values.caMemoryLimit },
    },
  };
}

/** undefined: not a list of amounts. Absent is an empty one. */
function resourceList(value: unknown): ResourceList | undefined {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) return undefined;
  const amounts = Object.entries(value).map(([name, each]) => [name, String(each)] as const);
  return amounts.every(([, each]) => parseQuantity(each) !== undefined) ? Object.fromEntries(amounts) : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
