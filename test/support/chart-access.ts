/** The chart's accounts and rights on a stage, without its programs; and what one can do with them. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Manifest, releaseNamespace, render } from "../chart/rendered-chart.ts";
import { ApiObjects } from "./api-objects.ts";
import type { Cluster } from "./cluster.ts";
import type { Stage } from "./stage.ts";

export type Account = keyof typeof accounts;
export type Where = "everywhere" | "mountpoint" | "release" | "default";

const accounts = {
  controller: "s3-csi-driver-controller-sa",
  node: "s3-csi-driver-sa",
  releaseSecrets: "s3-csi-release-secrets",
} as const;
const accessKinds = new Set([
  ...["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
  ...["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"],
]);
const subresources = new Set(["log", "exec", "status", "eviction", "token"]);

export class ChartAccess implements AsyncDisposable {
  readonly #cluster: Cluster;
  readonly #api: ApiObjects;
  readonly #mountpointNamespace: string;
  readonly #objects: readonly Manifest[];
  readonly #directory: string;

  private constructor(stage: Stage, objects: readonly Manifest[], directory: string) {
    this.#cluster = stage.cluster;
    this.#api = new ApiObjects(stage.cluster.lab.layout.kubeconfig);
    this.#mountpointNamespace = stage.mountpointNamespace;
    this.#objects = objects;
    this.#directory = directory;
  }

  static async apply(stage: Stage, values: Readonly<Record<string, string>> = {}): Promise<ChartAccess> {
    // Stages make volumes that the chart's rules for volumes would refuse.
    const usual = { "mountpointPod.namespace": stage.mountpointNamespace, "admissionPolicies.volumes": "false" };
    const chart = render({ ...usual, ...values });
    const objects = chart.filter(({ kind }) => accessKinds.has(kind));
    const directory = await mkdtemp(join(tmpdir(), "s3-csi-rights-"));
    await stage.cluster.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: releaseNamespace } });
    await stage.cluster.apply(...objects);
    return new ChartAccess(stage, objects, directory);
  }

  /** What the API server itself says, "yes" or "no". */
  async can(who: Account, verb: string, resource: string, where: Where): Promise<string> {
    const namespaces = { mountpoint: this.#mountpointNamespace, release: releaseNamespace, default: "default" };
    const [plural = "", rest] = resource.split("/");
    const [name = "", ...group] = plural.split(".");
    const part = rest === undefined ? {} : subresources.has(rest) ? { subresource: rest } : { name: rest };
    const namespace = where === "everywhere" ? {} : { namespace: namespaces[where] };
    const resourceAttributes = { verb, group: group.join("."), resource: name, ...part, ...namespace };
    const user = `system:serviceaccount:${releaseNamespace}:${accounts[who]}`;
    const groups = ["system:serviceaccounts", `system:serviceaccounts:${releaseNamespace}`, "system:authenticated"];
    const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    const review = await this.#api.create(path, { spec: { user, groups, resourceAttributes } });
    return (review as { status: { allowed: boolean } }).status.allowed ? "yes" : "no";
  }

  /** A login as the account, with a token of the kind that kubelet gives to a Pod. */
  async kubeconfigOf(who: Account): Promise<string> {
    const cluster = this.#cluster;
    const token = (await cluster.kubectl("create", "token", accounts[who], "-n", releaseNamespace)).trim();
    const admin = JSON.parse(await readFile(cluster.lab.layout.kubeconfig, "utf8")) as { users: [{ name: string }] };
    const file = join(this.#directory, `${who}.json`);
    await writeFile(file, JSON.stringify({ ...admin, users: [{ name: admin.users[0].name, user: { token } }] }));
    return file;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const byNamespace = Object.groupBy(this.#objects, ({ metadata }) => metadata.namespace ?? "default");
    for (const [namespace, objects = []] of Object.entries(byNamespace)) {
      const names = objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
      await this.#cluster.kubectl("delete", ...names, "-n", namespace, "--ignore-not-found");
    }
    await this.#cluster.kubectl("delete", "namespace", releaseNamespace, "--wait=true");
    await rm(this.#directory, { recursive: true });
  }
}
