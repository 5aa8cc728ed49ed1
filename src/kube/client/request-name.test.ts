import { expect, it } from "vitest";
import { requestName } from "./request-name.ts";

const attachments = "/apis/s3.csi.scality.com/v2/mountpoints3podattachments";

it.for<[string, string, string, string]>([
  ["GET", "/api/v1/pods?limit=500", "list", "pods"],
  ["GET", "/api/v1/namespaces/mount-s3/pods?watch=true&fieldSelector=a", "watch", "pods"],
  ["GET", "/api/v1/namespaces/mount-s3/pods/mp-1", "get", "pods"],
  ["GET", "/api/v1/namespaces/mount-s3/pods/mp-1/log?tailLines=5", "get", "pods/log"],
  ["GET", "/api/v1/namespaces/kube-system", "get", "namespaces"],
  ["POST", "/api/v1/namespaces/mount-s3/pods", "create", "pods"],
  ["PATCH", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/s3", "patch", "leases"],
  ["PATCH", `${attachments}/s3pa-1/status?force=true`, "patch", "mountpoints3podattachments/status"],
  ["DELETE", `${attachments}/s3pa-1`, "delete", "mountpoints3podattachments"],
  ["GET", "/version", "get", ""],
])("%s %s → %s %s", ([method, path, verb, resource]) => {
  expect(requestName(method, path)).toEqual({ verb, resource });
});
