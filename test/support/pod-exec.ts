/** `kubectl exec` within the test's process: the program costs more CPU time than the command in the container. */
import { text } from "node:stream/consumers";
import { WebSocket } from "ws";
import { CommandFailed, type Finished } from "../../lab/run.ts";
import { kubeconfigCredentials } from "../../src/kube/client/credentials.ts";

export interface ExecRequest {
  readonly namespace: string;
  readonly name: string;
  readonly command: readonly string[];
  readonly container?: string;
}

/** As kubectl, the API server and kubelet name it: the first byte of a message says which stream it belongs to. */
const protocol = "v5.channel.k8s.io";
const channels = { stdout: 1, stderr: 2, error: 3 } as const;

/** Gives what the command printed on stdout; any exit code but 0 is an error. */
export async function execInPod(kubeconfig: string, request: ExecRequest, signal: AbortSignal): Promise<string> {
  const finished = await attemptInPod(kubeconfig, request, signal);
  if (finished.code !== 0) throw new CommandFailed(["exec", request.name, ...request.command], finished);
  return finished.stdout;
}

async function attemptInPod(kubeconfig: string, request: ExecRequest, signal: AbortSignal): Promise<Finished> {
  signal.throwIfAborted();
  const credentials = kubeconfigCredentials(kubeconfig);
  const { key, ...trust } = credentials.tls();
  const options = { ...trust, key: key?.reveal(), perMessageDeflate: false };
  const socket = new WebSocket(new URL(pathOf(request), credentials.server), protocol, options);
  const printed: Record<number, Buffer[]> = { [channels.stdout]: [], [channels.stderr]: [], [channels.error]: [] };
  const { promise, resolve, reject } = Promise.withResolvers<Finished>();
  const textOf = (channel: number) => Buffer.concat(printed[channel] ?? []).toString();
  const stop = () => {
    reject(signal.reason);
    socket.terminate();
  };
  signal.addEventListener("abort", stop);
  socket.on("message", (data: Buffer) => printed[data[0] ?? 0]?.push(data.subarray(1)));
  socket.on("unexpected-response", (_, answer) => {
    void text(answer).then((refusal) => resolve({ code: 1, stdout: "", stderr: refusal }), reject);
  });
  socket.on("error", reject);
  socket.on("close", () => {
    const [stdout, stderr, status] = [channels.stdout, channels.stderr, channels.error].map(textOf);
    if (status === undefined || status === "") reject(new Error("the connection was cut before the command ended"));
    else resolve({ code: exitCodeOf(status), stdout: stdout ?? "", stderr: `${stderr}${messageOf(status)}` });
  });
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function pathOf({ namespace, name, command, container }: ExecRequest): string {
  const query = new URLSearchParams({ stdout: "true", stderr: "true", ...(container && { container }) });
  for (const word of command) query.append("command", word);
  return `/api/v1/namespaces/${namespace}/pods/${name}/exec?${query.toString()}`;
}

interface Status {
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason: string; readonly message: string }[] };
}

/** Kubelet says it as the cause of a failure. Other failures have none: the command was not run. */
function exitCodeOf(said: string): number {
  const { status, details } = JSON.parse(said) as Status;
  if (status === "Success") return 0;
  return Number(details?.causes?.find(({ reason }) => reason === "ExitCode")?.message ?? 1);
}

function messageOf(said: string): string {
  return (JSON.parse(said) as Status).message ?? "";
}
