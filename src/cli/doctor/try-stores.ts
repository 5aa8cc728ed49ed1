/**
 * Tries endpoints, certificates and credentials where the driver uses them: a Pod with the image, the account and the settings of the
 * controller asks each store once, prints the results and ends.
 */
import { randomBytes } from "node:crypto";
import { defaultStore } from "../../core/stores/store.ts";
import type { Container, Pod, Workload } from "../../topology/objects.ts";
import { paths } from "../../topology/paths.ts";
import { isForbidden, isNotFound } from "../api/request-errors.ts";
import type { TriedStore, TriedStores } from "./installation.ts";
import type { DoctorRequest } from "./read-installation.ts";

/** An image is pulled, and a store that does not answer is given up by the driver after 40 s. */
const limitMs = 120_000;
const pollMs = 500;

export async function tryStores(request: DoctorRequest, deployment: Workload, namespace: string): Promise<TriedStores> {
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

async function result({ signal, api }: DoctorRequest, path: string, endpoint: string): Promise<TriedStores> {
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
  return { state: "tried", stores: answer.stores ?? [ofOneStore(answer, endpoint)] };
}

/** What the program prints; one that knows a single store prints no list. */
interface Answer {
  readonly ok: boolean;
  readonly problem?: string;
  readonly stores?: readonly TriedStore[];
}

function ofOneStore({ ok, problem = "no reason was given" }: Answer, endpointUrl: string): TriedStore {
  return { name: defaultStore, endpointUrl, ...(ok ? { result: "ok" } : { result: "failed", problem }) };
}

/** The line that the program prints for this; other lines are its log. */
function lastJson(log: string): Answer | undefined {
  const line = log.split("\n").findLast((each) => each.startsWith('{"checkStore":'));
  if (line === undefined) return undefined;
  return (JSON.parse(line) as { checkStore: Answer }).checkStore;
}

async function removed(deletion: Promise<unknown>): Promise<void> {
  try {
    await deletion;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
