import { expect, it } from "vitest";
import { setupConfigFrom } from "./config.ts";

const env = { KUBERNETES_SERVICE_HOST: "10.96.0.1" };

it.for([
  {
    args: ["install-kind"],
    task: { do: "install-kind", definition: "/etc/s3-csi/definition.json" },
  },
  {
    args: ["recreate-controller", "--namespace=storage"],
    task: { do: "recreate-controller", namespace: "storage" },
  },
  {
    args: ["release-secrets", "--protected-secrets=storage/records"],
    task: { do: "release-secrets", protectedSecrets: { namespace: "storage", name: "records" } },
  },
  {
    args: ["remove-mounts"],
    task: { do: "remove-mounts", mountpointNamespace: "mount-s3", warmOwner: undefined, limitMs: 300_000 },
  },
  {
    args: ["--mountpoint-namespace=mp", "remove-mounts", "--limit-seconds", "3", "--warm-owner=w"],
    task: { do: "remove-mounts", mountpointNamespace: "mp", warmOwner: "w", limitMs: 3000 },
  },
])("understands $args", ({ args, task }) => {
  expect(setupConfigFrom(args, env)).toEqual({ task, api: { host: "10.96.0.1", port: "443" } });
});

const tasks = "install-kind, recreate-controller, release-secrets";

it.for([
  { args: [], mistake: `the task must be set: use ${tasks} or remove-mounts` },
  { args: ["remove-mount"], mistake: `the task must be one of ${tasks}, remove-mounts, but is "remove-mount"` },
  { args: ["recreate-controller"], mistake: "recreate-controller needs --namespace" },
  { args: ["release-secrets"], mistake: "release-secrets needs --protected-secrets" },
  { args: ["remove-mounts", "now"], mistake: 'unexpected argument "now"' },
  {
    args: ["remove-mounts", "--limit-seconds=soon", "--namespac=x"],
    mistake:
      "unknown flag --namespac: did you mean --namespace?; " +
      '--limit-seconds must be an integer from 1 to 1000000, in seconds, but is "soon"',
  },
])("refuses $args", ({ args, mistake }) => {
  expect(() => setupConfigFrom(args, env)).toThrow(new Error(mistake));
});

it("needs to know where the API server is", () => {
  expect(() => setupConfigFrom(["install-kind"], {})).toThrow("run this program in a Pod, or with --kubeconfig");
});
