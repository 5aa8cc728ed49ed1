/** Runs the Pod of a benchmark, follows what it prints, and deletes it whatever happens. */
import { eventCatalogue } from "../../core/failures/event-catalogue.ts";
import { type BenchPlan, type BenchResult, type FilesLeft, parseBenchLine } from "../../core/volume-bench.ts";
import type { EventObject, Pod } from "../../topology/objects.ts";
import { paths } from "../../topology/paths.ts";
import type { ApiServer } from "../api/api-server.ts";
import { isForbidden, isNotFound } from "../api/request-errors.ts";
import { UserError } from "../user-error.ts";
import { benchContainer, type benchPod } from "./bench-pod.ts";

/** An image is pulled and a Mountpoint Pod is started. */
const startLimitMs = 180_000;
const pollMs = 500;

export interface BenchRun {
  readonly node: string;
  readonly result: BenchResult;
}

/** `progress` is told what the Pod waits for or does, each once. */
export async function runBenchPod(
  signal: AbortSignal,
  api: ApiServer,
  pod: ReturnType<typeof benchPod>,
  progress: (what: string) => void,
): Promise<BenchRun> {
  const { name, namespace } = pod.metadata;
  const path = `${paths.pods(namespace)}/${name}`;
  let isRefused = false;
  try {
    await created(signal, api, pod).catch((error: unknown) => {
      isRefused = error instanceof UserError;
      throw error;
    });
    const node = await started(signal, api, { path, name, namespace, progress });
    return { node, result: await result(signal, api, pod, progress) };
  } finally {
    // Also after Ctrl-C: the program then removes what it wrote, and ends. Also if the answer to the creation was lost.
    if (!isRefused && !(await isDeleted(api, path)))
      progress(`the Pod could not be deleted: kubectl delete pod -n ${namespace} ${name}`);
  }
}

async function created(signal: AbortSignal, api: ApiServer, pod: ReturnType<typeof benchPod>): Promise<void> {
  const { namespace } = pod.metadata;
  try {
    await api.json(signal, { method: "POST", path: paths.pods(namespace), body: pod });
  } catch (error) {
    if (!isForbidden(error)) throw error;
    throw new UserError(
      (error as Error).message,
      `bench needs the rights to create, get and delete Pods in namespace ${namespace}, and to get their logs`,
    );
  }
}

interface Starting {
  readonly path: string;
  readonly name: string;
  readonly namespace: string;
  readonly progress: (what: string) => void;
}

/** The node, once the program runs or has ended. */
async function started(signal: AbortSignal, api: ApiServer, starting: Starting): Promise<string> {
  const limit = AbortSignal.timeout(startLimitMs);
  let told = "";
  for (;;) {
    const pod = await api.json<Pod>(signal, { path: starting.path });
    if (!isPending(pod)) return pod.spec.nodeName ?? "";
    const waitsFor = unscheduled(pod) ?? notCreated(pod) ?? (await lastWarning(signal, api, starting));
    if (waitsFor !== told) starting.progress(`waiting for ${waitsFor}`);
    told = waitsFor;
    if (limit.aborted || isFinal(pod)) throw notStarted(starting, told);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
    signal.throwIfAborted();
  }
}

function isPending({ status }: Pod): boolean {
  return (status?.phase ?? "Pending") === "Pending";
}

function notStarted({ namespace }: Starting, because: string): UserError {
  return new UserError(
    `the Pod of the benchmark did not start: it waited for ${because}`,
    `kubectl get events -n ${namespace} has more; --image names another image, --node another node`,
  );
}

/** kubelet tries again, but an image that cannot be pulled now cannot be pulled in a minute. */
function isFinal(pod: Pod): boolean {
  const final = ["ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "CreateContainerError"];
  return final.includes(containerWaits(pod)?.reason ?? "");
}

function unscheduled({ status }: Pod): string | undefined {
  const conditions = status?.conditions ?? [];
  const message = conditions.find((each) => each.type === "PodScheduled" && each.status === "False")?.message;
  return message === undefined ? undefined : `a node: ${message}`;
}

/** `ContainerCreating` is also what kubelet says while a volume is being mounted. */
function notCreated(pod: Pod): string | undefined {
  const { reason = "ContainerCreating", message = "" } = containerWaits(pod) ?? {};
  return reason === "ContainerCreating" ? undefined : `the container: ${reason} ${message}`.trim();
}

function containerWaits({ status }: Pod): { readonly reason?: string; readonly message?: string } | undefined {
  return status?.containerStatuses?.find(({ name }) => name === benchContainer)?.state?.waiting;
}

/** What kubelet and the node plugin say about a volume that is not mounted. Without the right to read events: nothing. */
async function lastWarning(signal: AbortSignal, api: ApiServer, { name, namespace }: Starting): Promise<string> {
  const nothing = "the Pod to start";
  const query = { fieldSelector: `involvedObject.name=${name},type=Warning` };
  try {
    const events = await api.list<EventObject>(signal, paths.events(namespace), { query });
    const message = events.findLast(({ reason = "" }) => reason === "FailedMount" || reason in eventCatalogue)?.message;
    return message === undefined ? nothing : `the volume: ${message}`;
  } catch (error) {
    if (isForbidden(error)) return nothing;
    throw error;
  }
}

async function result(
  signal: AbortSignal,
  api: ApiServer,
  { metadata, spec: { containers } }: ReturnType<typeof benchPod>,
  progress: (what: string) => void,
): Promise<BenchResult> {
  const path = `${paths.pods(metadata.namespace)}/${metadata.name}`;
  const others: string[] = [];
  for await (const text of await api.lines(signal, `${path}/log?container=${benchContainer}&follow=true`)) {
    const line = parseBenchLine(text);
    if (line === undefined) others.push(text);
    else if ("step" in line) progress(line.step);
    else if ("result" in line) return line.result;
    else throw failed(line.problem, line.filesLeft);
  }
  const { directory } = JSON.parse(containers[0]?.args[0] ?? "{}") as BenchPlan;
  throw new UserError(
    `the Pod of the benchmark ended without a result: ${others.at(-1) ?? "it printed nothing"}`,
    directory === undefined ? "nothing was written" : `files may be left in the directory ${directory} of the volume`,
  );
}

function failed(problem: string, filesLeft: FilesLeft): Error {
  const message = `the benchmark failed: ${problem}`;
  return filesLeft.count === 0 ? new Error(message) : new UserError(message, filesLeftText(filesLeft));
}

/** For files that the program could not remove: what the user has to delete. */
export function filesLeftText({ count, paths: named }: FilesLeft): string {
  const more = count > named.length ? ` and ${count - named.length} more` : "";
  return `${count} files could not be removed. Delete them from the volume: ${named.join(", ")}${more}`;
}

/** Never rejects: the result, or the reason why there is none, matters more than the Pod, which ends by its own deadline. */
async function isDeleted(api: ApiServer, path: string): Promise<boolean> {
  try {
    await api.json(AbortSignal.timeout(10_000), { method: "DELETE", path });
    return true;
  } catch (error) {
    return isNotFound(error);
  }
}
