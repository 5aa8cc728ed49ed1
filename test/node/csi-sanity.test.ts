/** csi-sanity, all groups, against the driver as it is installed. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { attempt } from "../../lab/run.ts";
import { openCluster } from "../support/cluster.ts";
import { csiSocketOf } from "../support/mount-s3-process.ts";
import { SanityProxy } from "../support/sanity-proxy.ts";

const cluster = openCluster();

it("PR-2 csi-sanity finds nothing wrong, in any group and with nothing left out", async () => {
  await using undo = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), "sanity-"));
  undo.defer(() => rm(directory, { recursive: true, force: true }));
  const sandbox = undo.use(await cluster.sandbox());
  const socket = join(directory, "csi.sock");
  undo.use(await SanityProxy.serve(sandbox, "worker-1", socket, directory));

  await expectSanity(
    `--csi.endpoint=unix:${socket}`,
    `--csi.mountdir=${join(directory, "mount")}`,
    `--csi.stagingdir=${join(directory, "staging")}`,
  );
});

it("PR-2 csi-sanity finds nothing wrong with the identity of the node plugin either", async () => {
  await expectSanity(`--csi.endpoint=${csiSocketOf(cluster, "worker-1")}`, "--ginkgo.focus=Identity Service");
});

async function expectSanity(...flags: readonly string[]): Promise<void> {
  const argv = [process.env["CSI_SANITY"] ?? "csi-sanity", ...flags, "--ginkgo.no-color"];
  const { code, stdout, stderr } = await attempt(argv, { signal: AbortSignal.timeout(540_000) });
  expect(`${stdout}${stderr}`).toMatch(/[1-9][0-9]* Passed \| 0 Failed/);
  expect(code).toBe(0);
}
