/** csi-sanity, all groups, against the driver as it is installed. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { attempt } from "../../lab/run.ts";
import { openCluster } from "../support/cluster.ts";
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
    "--ginkgo.no-color",
  ];
  const { code, stdout, stderr } = await attempt([process.env["CSI_SANITY"] ?? "csi-sanity", ...flags], {
    signal: AbortSignal.timeout(540_000),
  });

  expect(`${stdout}${stderr}`).toMatch(/[1-9][0-9]* Passed \| 0 Failed/);
  expect(code).toBe(0);
});
