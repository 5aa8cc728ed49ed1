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

  const flags = [
    `--csi.endpoint=unix:${socket}`,
    `--csi.mountdir=${join(directory, "mount")}`,
    `--csi.stagingdir=${join(directory, "staging")}`,
  ];
  expect(await sanity(flags)).toEqual(nothingWrong);
});

it("PR-2 csi-sanity finds nothing wrong with the identity of the node plugin either", async () => {
  const flags = [`--csi.endpoint=${csiSocketOf(cluster, "worker-1")}`, "--ginkgo.focus=Identity Service"];
  expect(await sanity(flags)).toEqual(nothingWrong);
});

const nothingWrong = { code: 0, output: expect.stringMatching(/[1-9][0-9]* Passed \| 0 Failed/) };

async function sanity(flags: readonly string[]): Promise<object> {
  const argv = [process.env["CSI_SANITY"] ?? "csi-sanity", ...flags, "--ginkgo.no-color"];
  const { code, stdout, stderr } = await attempt(argv, { signal: AbortSignal.timeout(540_000) });
  return { code, output: `${stdout}${stderr}` };
}
