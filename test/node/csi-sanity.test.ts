/** The tests that CSI itself has for drivers, against the node plugin as it runs in a cluster. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { attempt } from "../../lab/run.ts";
import { openCluster } from "../support/cluster.ts";
import { csiSocketOf } from "../support/mount-s3-process.ts";

const cluster = openCluster();
/** The other tests of the node group make volumes first, which is the controller's part. */
const onlyArguments =
  "Node(GetCapabilities|GetInfo|PublishVolume should fail|UnpublishVolume should fail|GetVolumeStats should fail when no)";

it.for([
  { group: "the identity service", focus: "Identity Service", passes: 3 },
  { group: "the arguments of the node service", focus: `Node Service ${onlyArguments}`, passes: 9 },
])("csi-sanity finds no fault with $group", async ({ focus, passes }) => {
  const directory = mkdtempSync(join(tmpdir(), "csi-sanity-"));
  try {
    const places = ["-csi.mountdir", join(directory, "mount"), "-csi.stagingdir", join(directory, "staging")];
    const argv = [process.env["CSI_SANITY"] ?? "csi-sanity", "-csi.endpoint", csiSocketOf(cluster, "worker-1")];
    const { code, stdout } = await attempt([...argv, ...places, "-ginkgo.focus", focus, "-ginkgo.no-color"], {
      signal: AbortSignal.timeout(240_000),
    });
    expect(stdout).toContain(`Ran ${passes} of`);
    expect(stdout).toContain(`${passes} Passed | 0 Failed`);
    expect(code).toBe(0);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
