/** Durations and results of requests: those that a program answers, and those that it sends. */
import { Counter, Histogram, type Registry } from "prom-client";

/** From a request that a cache answers to the longest that kubelet waits. */
const buckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60];

/** Calls of kubelet and of the csi-provisioner. */
export function csiCalls(
  registry: Registry,
): (answered: { readonly method: string; readonly code: string; readonly seconds: number }) => void {
  const seconds = new Histogram({
    name: "s3_csi_rpc_seconds",
    help: "CSI calls that were answered, by method and gRPC code.",
    labelNames: ["method", "code"],
    buckets,
    registers: [registry],
  });
  // The service is part of the method's name already: NodePublishVolume.
  return ({ method, code, seconds: took }) => seconds.observe({ method: method.replace(/^.*\//, ""), code }, took);
}

/** Requests to the API server of Kubernetes. */
export function apiRequests(
  registry: Registry,
): (answered: {
  readonly verb: string;
  readonly resource: string;
  readonly code: number | undefined;
  readonly seconds: number;
}) => void {
  const requests = new Counter({
    name: "s3_csi_api_requests_total",
    help: "Requests to the API server, by verb, resource and HTTP status (none: there was no answer). Each start of a watch is one.",
    labelNames: ["verb", "resource", "code"],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: "s3_csi_api_request_seconds",
    help: "Time until the API server began to answer, by verb.",
    labelNames: ["verb"],
    buckets,
    registers: [registry],
  });
  return ({ verb, resource, code, seconds: took }) => {
    requests.inc({ verb, resource, code: code ?? "none" });
    seconds.observe({ verb }, took);
  };
}

/** Requests of the driver to the object store. Those of mount-s3 are not among them. */
export function storeRequests(
  registry: Registry,
): (answered: { readonly operation: string; readonly result: string; readonly seconds: number }) => void {
  const seconds = new Histogram({
    name: "s3_csi_s3_request_seconds",
    help: "Requests of the driver to the object store with all their attempts, by operation and result (ok, or the kind of the failure).",
    labelNames: ["operation", "result"],
    buckets,
    registers: [registry],
  });
  return ({ operation, result, seconds: took }) => seconds.observe({ operation, result }, took);
}
