/** Where the API server has the collections that commands and page read. */
import { attachmentApi } from "../core/names.ts";

export const paths = {
  pods: (namespace?: string) => namespaced("/api/v1", "pods", namespace),
  claims: (namespace?: string) => namespaced("/api/v1", "persistentvolumeclaims", namespace),
  events: (namespace?: string) => namespaced("/api/v1", "events", namespace),
  volumes: "/api/v1/persistentvolumes",
  attachments: `/apis/${attachmentApi.group}/${attachmentApi.version}/${attachmentApi.plural}`,
  daemonSets: (namespace?: string) => namespaced("/apis/apps/v1", "daemonsets", namespace),
} as const;

function namespaced(base: string, plural: string, namespace: string | undefined): string {
  return namespace === undefined
    ? `${base}/${plural}`
    : `${base}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}
