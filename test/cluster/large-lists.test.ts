/** Lists of very large objects, from a real API server, with and without WatchList. */
import { beforeAll, expect, it } from "vitest";
import { KubeClient } from "../../src/kube/client/client.ts";
import { kubeconfigCredentials } from "../../src/kube/client/credentials.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { jsonLogger } from "../../src/runtime/log.ts";
import { openCluster } from "../support/cluster.ts";
import { FaultyWay } from "../support/faulty-way.ts";
import { createForeignPods, deletePodsIn } from "../support/foreign-pods.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { installAttachmentKind, long, mountpointPodOf, Stage } from "../support/stage.ts";

const cluster = openCluster();
const count = 300;
/** The API server accepts annotations of 256 KiB in all, names included. */
const paddingBytes = 256 * 1024 - "example.com/padding".length;

beforeAll(() => installAttachmentKind(cluster));

it(`SC-8 ${count} Pods with annotations of 256 KiB are listed; the reconciler works beside them, with and without WatchList`, {
  timeout: 600_000,
}, async () => {
  await using stage = await Stage.open(cluster);
  const { name: namespace, call } = stage;
  await createForeignPods(call, stage.client, { namespace, prefix: "large", count, claims: true, paddingBytes });

  const lines: string[] = [];
  using client = new KubeClient(kubeconfigCredentials(cluster.lab.layout.kubeconfig), { userAgent: "test" });
  const log = jsonLogger((line) => lines.push(line), 2);
  const pages: number[] = [];
  for await (const { objects } of client.pages({ ...call, log }, kinds.pods, { namespace })) pages.push(objects.length);
  expect(pages.reduce((sum, objects) => sum + objects, 0)).toBe(count);
  expect(Math.max(...pages) * paddingBytes).toBeLessThan(4 * 1024 * 1024);
  const tooLarge = { message: "a page of a list is too large, asking for a smaller one", kind: "Pod", objects: 500 };
  expect(JSON.parse(lines[0] ?? "{}")).toMatchObject(tooLarge);
  expect(lines.at(-1)).toContain(`"largest":"${namespace}/large-`);

  for (const listBy of ["stream", "pages"] as const) {
    const fateOf = (_: string, path: string) =>
      listBy === "pages" && path.includes("sendInitialEvents") ? 422 : "passed";
    await using way = await FaultyWay.open(cluster.lab.layout.kubeconfig, { fateOf, latenessMs: () => 0 });
    await using reconciler = await ReconcilerProcess.start(stage, { kubeconfig: way.kubeconfig });
    expect(reconciler.log.includes("a page of a list is too large")).toBe(listBy === "pages");
    const claim = await stage.volume();
    const app = await stage.workload(`app-${listBy}`, { claims: [claim] });
    await expect.poll(() => stage.served(), long).toHaveProperty(mountpointPodOf(app, claim), [app.metadata.uid]);
  }
  await deletePodsIn(call, stage.client, namespace);
});
