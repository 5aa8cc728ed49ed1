/**
 * Tries endpoint, certificates and credentials where the driver uses them: a Pod with the image, the account and the settings of the
 * controller asks the store once, prints the result and ends.
 */
import { randomBytes } from "node:crypto";
import type { Container, Pod, Workload } from "../../topology/objects.ts";
import { paths } from "../../topology/paths.ts";
import { isForbidden, isNotFound } from "../api/request-errors.ts";
import type { StoreState } from "./installation.ts";
import type { DoctorRequest } from "./read-installation.ts";

/** An image is pulled, and a store that does not answer is given up by the driver after 40 s. */
const limitMs = 120_000;
const pollMs = 500;

export async function tryStore(request: DoctorRequest, deployment: Workload, namespace: string): Promise<StoreState> {
  const container = deployment.spec.template.spec.containers.find(({ name }) => name === "s3-csi-controller");
  if (container === undefined)
    return { state: "not tried", because: "the controller has no container s3-csi-controller" };
  const endpoint = container.env?.find(({ name }) => name === "AWS_ENDPOINT_URL")?.value ?? "";
  const pod = probePod(deployment, container, namespace);
  const { signal, api } = request;
  try {
    await api.json(signal, { method: "POST", path: paths.pods(namespace), body: pod });
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return { state: "not tried", because: (error as Error).message };
  }
  const path = `${paths.pods(namespace)}/${pod.metadata.name}`;
  try {
    return await result(request, path, endpoint);
  } finally {
    // Also after Ctrl-C: the Pod must not stay.
    await removed(api.json(AbortSignal.timeout(10_000), { method: "DELETE", path }));
  }
}

function probePod(deployment: Workload, container: Container, namespace: string) {
  const { serviceAccountName, ...template } = deployment.spec.template.spec as Pod["spec"] & Record<string, unknown>;
  const { args = [], ...rest } = container as Container & Record<string, unknown>;
  const { livenessProbe: _, readinessProbe: __, ports: ___, ...plain } = rest as Record<string, unknown>;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `s3-csi-doctor-${randomBytes(4).toString("hex")}`, namespace, labels: { app: "s3-csi-doctor" } },
    spec: {
      serviceAccountName,
      restartPolicy: "Never",
      // The kubelet ends it if nobody removes it.
      activeDeadlineSeconds: 300,
      containers: [{ ...plain, name: "check-store", args: [...args, "--check-store"] }],
      ...pick(template, ["volumes", "imagePullSecrets", "nodeSelector", "tolerations", "affinity", "securityContext"]),
    },
  };
}

function pick(from: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])));
}

async function result({ signal, api }: DoctorRequest, path: string, endpoint: string): Promise<StoreState> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  let pod: Pod;
  do {
    if (limited.aborted) return { state: "not tried", because: `the Pod did not end within ${limitMs / 1000} s` };
    await new Promise((resolve) => setTimeout(resolve, pollMs));
    pod = await api.json<Pod>(signal, { path });
  } while (pod.status?.phase !== "Succeeded" && pod.status?.phase !== "Failed");
  const answer = lastJson(await api.text(signal, { path: `${path}/log?tailLines=50` }));
  if (answer === undefined)
    return { state: "not tried", because: "the Pod ended without a result: the driver is older than this plugin" };
  return answer.ok
    ? { state: "ok", endpoint }
    : { state: "failed", endpoint, problem: answer.problem ?? "no reason was given" };
}

/** The line that the program prints for this; other lines are its log. */
function lastJson(log: string): { readonly ok: boolean; readonly problem?: string } | undefined {
  const line = log.split("\n").findLast((each) => each.startsWith('{"checkStore":'));
  if (line === undefined) return undefined;
  return (JSON.parse(line) as { checkStore: { ok: boolean; problem?: string } }).checkStore;
}

async function removed(deletion: Promise<unknown>): Promise<void> {
  try {
    await deletion;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
