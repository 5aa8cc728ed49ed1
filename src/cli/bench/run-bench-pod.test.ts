import { expect, it } from "vitest";
import { type BenchLine, benchLine, noFilesLeft } from "../../core/volume-bench.ts";
import type { ApiRequest, ApiServer } from "../api/api-server.ts";
import { benchPod } from "./bench-pod.ts";
import { runBenchPod } from "./run-bench-pod.ts";

const result = { measurements: [], filesLeft: noFilesLeft };
const pod = benchPod({
  ...{ name: "bench-1", namespace: "shop", claim: "claim", image: "driver", node: undefined, nodesInUse: [] },
  identity: { user: 1000, fsGroup: undefined },
  plan: { mountPath: "/volume", directory: "own", sizeBytes: 1, files: 1 },
});

/** An API server that runs the Pod, beside a container that a webhook has added; `fails` answers these methods with an error. */
function apiServer(fails: readonly string[] = [], lines: readonly BenchLine[] = [{ result }]) {
  const asked: string[] = [];
  const waiting = { name: "proxy", ready: false, restartCount: 0, state: { waiting: { reason: "ImagePullBackOff" } } };
  const statuses = [
    { phase: "Pending", containerStatuses: [waiting, { name: "bench", ready: false, restartCount: 0 }] },
    { phase: "Running" },
  ];
  const api = {
    json: ({ method = "GET", path }: ApiRequest) => {
      asked.push(`${method} ${path}`);
      if (fails.includes(method)) throw new Error(`no answer to ${method}`);
      const status = statuses.length > 1 ? statuses.shift() : statuses[0];
      return method === "GET" ? { spec: { nodeName: "worker-1" }, status } : {};
    },
  };
  const server = {
    json: async (_: AbortSignal, request: ApiRequest) => await Promise.resolve(api.json(request)),
    list: async () => await Promise.resolve([]),
    lines: async (_: AbortSignal, path: string) => {
      asked.push(`GET ${path}`);
      return await Promise.resolve(lines.map((line) => benchLine(line).trim()));
    },
  };
  return { asked, server: server as unknown as ApiServer };
}

const { signal } = new AbortController();
const path = "/api/v1/namespaces/shop/pods/bench-1";

it("OP-5 bench looks at its own container, whatever was added to the Pod", async () => {
  const { server, asked } = apiServer();
  expect(await runBenchPod(signal, server, pod, () => undefined)).toEqual({ node: "worker-1", result });
  expect(asked).toContain(`GET ${path}/log?container=bench&follow=true`);
  expect(asked.at(-1)).toBe(`DELETE ${path}`);
});

it("OP-4 bench keeps its result if the Pod cannot be deleted, and says how to delete it", async () => {
  const said: string[] = [];
  const run = await runBenchPod(signal, apiServer(["DELETE"]).server, pod, (what) => said.push(what));
  expect(run.result).toEqual(result);
  expect(said.at(-1)).toContain("kubectl delete pod -n shop bench-1");
});

it("OP-5 bench deletes the Pod also if the answer to its creation was lost", async () => {
  const { server, asked } = apiServer(["POST"]);
  await expect(runBenchPod(signal, server, pod, () => undefined)).rejects.toThrow("no answer to POST");
  expect(asked.at(-1)).toBe(`DELETE ${path}`);
});

it("OP-4 bench that failed names the files that it could not remove", async () => {
  const filesLeft = { count: 3, paths: ["own/large", "own/small-0"] };
  const { server } = apiServer([], [{ problem: "EIO: write", filesLeft }]);
  const run = runBenchPod(signal, server, pod, () => undefined);
  await expect(run).rejects.toThrow("the benchmark failed: EIO: write");
  await expect(run).rejects.toMatchObject({
    fix: "3 files could not be removed. Delete them from the volume: own/large, own/small-0 and 1 more",
  });
});

it("OP-4 bench whose Pod was ended names the directory in which files may be left", async () => {
  const run = runBenchPod(signal, apiServer([], [{ step: "write" }]).server, pod, () => undefined);
  await expect(run).rejects.toMatchObject({ fix: "files may be left in the directory own of the volume" });
});
