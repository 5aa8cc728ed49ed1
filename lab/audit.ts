/** What the API server writes down: each request of the node plugins, so that tests can say what those asked for. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Layout } from "./layout.ts";

/** Metadata only: no body, so nothing of a Secret. */
export const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata", users: ["system:serviceaccount:kube-system:s3-csi-driver-sa"] }],
};

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
  readonly objectRef?: { readonly resource: string; readonly namespace?: string; readonly name?: string };
  readonly user: { readonly extra?: Readonly<Record<string, readonly string[]>> };
}

/** Everything so far; the last line may still be on its way. */
export function auditedRequests(layout: Layout): readonly AuditedRequest[] {
  const lines = readFileSync(auditLogFile(layout), "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as AuditedRequest);
}
