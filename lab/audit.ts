/** What the API server writes down: each request of the driver's programs, so that tests can say what those asked for. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Layout } from "./layout.ts";

/** Metadata only: no body, so nothing of a Secret. */
export const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [
    {
      level: "Metadata",
      users: [userOf("s3-csi-driver-sa"), userOf("s3-csi-driver-controller-sa"), userOf("s3-csi-driver-ui-sa")],
    },
    // Where the cluster ring puts accounts of the chart.
    { level: "Metadata", userGroups: ["system:serviceaccounts:storage"] },
    // Whoever the reconciler is: a write that changes nothing is seen nowhere else.
    {
      level: "Metadata",
      resources: [{ group: "s3.csi.scality.com", resources: ["mountpoints3podattachments/status"] }],
    },
  ],
};

/** How the API server calls a service account. */
export function userOf(account: string, namespace = "kube-system"): string {
  return `system:serviceaccount:${namespace}:${account}`;
}

export function auditPolicyFile({ state }: Layout): string {
  return join(state, "audit-policy.json");
}

export function auditLogFile({ logs }: Layout): string {
  return join(logs, "audit.log");
}

export interface AuditedRequest {
  readonly auditID: string;
  /** A watch is written down twice: when it has begun, and when it ends. */
  readonly stage: "ResponseStarted" | "ResponseComplete" | "Panic";
  readonly verb: string;
  readonly requestURI: string;
  readonly sourceIPs: readonly string[];
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly user: { readonly username: string; readonly extra?: Readonly<Record<string, readonly string[]>> };
  readonly responseStatus?: { readonly code?: number };
}

/** Everything so far; the last line may still be on its way. */
export function auditedRequests(layout: Layout): readonly AuditedRequest[] {
  const lines = readFileSync(auditLogFile(layout), "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as AuditedRequest);
}
