import { expect, it } from "vitest";
import type { NodeName } from "../../core/names.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { silentLogger } from "../../runtime/log.ts";
import { pod } from "../decision/situation.fixture.ts";
import { installation } from "../domain/mountpoint-pod/installation.fixture.ts";
import { emptyView } from "../observe/view.ts";
import { createWarmPod, type WarmCluster } from "./act.ts";
import { WarmHistory } from "./history.ts";

const call = { signal: new AbortController().signal, log: silentLogger };
const node = "worker-1" as NodeName;

it("WM-1 a Mountpoint Pod that a volume took before the watch showed it does not keep its name from the next one", async () => {
  const history = new WarmHistory("term");
  const name = history.nextName(node);
  const view = emptyView();
  view.waitingPods.complete();
  view.mountpointPods.put(`mount-s3/${name}`, "2", pod(name, { resourceVersion: "2" }));
  const cluster = {
    view,
    mountpointPods: installation,
    client: { create: () => Promise.reject(new ApiError(409, "AlreadyExists", "it exists")) },
    reader: { get: async () => ({ metadata: { uid: "uid-of-owner" } }) },
    warm: { perNode: 1, owner: "owner", releaseNamespace: "driver" },
    pool: { settings: "settings" },
  } as unknown as WarmCluster;

  expect(await createWarmPod(call, cluster, history, node)).toBe("outdated");
  expect(history.nextName(node)).not.toBe(name);
});
