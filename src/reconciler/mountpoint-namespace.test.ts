import { expect, it, vi } from "vitest";
import { call } from "../../test/support/fake-node.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { kinds } from "../kube/kinds.ts";
import { mp, attachment as observed, pod, w1 } from "./decision/situation.fixture.ts";
import { isNamespaceInUse, refuseOtherNamespaces } from "./mountpoint-namespace.ts";
import { emptyView } from "./observe/view.ts";

const attachment = { spec: { nodeName: "worker-1", mountpointS3PodAttachments: { "mp-1": [], "mp-2": [] } } };
const podIn = (namespace: string, name = "mp-1", but: { phase?: string; node?: string } = {}) => ({
  metadata: { namespace, name },
  spec: { nodeName: but.node ?? "worker-1" },
  status: { phase: but.phase ?? "Running" },
});

/** Answers with these, after as many failures. */
function serverWith(pods: readonly object[], failures = 0): Pick<KubeClient, "list"> {
  let left = failures;
  const list = async (_call: unknown, kind: unknown) => {
    left -= 1;
    if (left >= 0) throw new Error("429 TooManyRequests");
    return kind === kinds.attachments ? [attachment] : pods;
  };
  return { list } as unknown as Pick<KubeClient, "list">;
}

it("PF-1 refuses another namespace while all listed Mountpoint Pods run in the old one", async () => {
  const refusal = refuseOtherNamespaces(call, serverWith([podIn("mount-s3"), podIn("mount-s3", "mp-2")]), "mounts");
  await expect(refusal).rejects.toThrow("cannot change from mount-s3 to mounts while mount-s3/mp-1 serves workloads");
});

it.for([
  ["has a copy elsewhere, as a tenant can make it", [podIn("tenant"), podIn("mount-s3")]],
  ["is missing, while another one is there", [podIn("tenant"), podIn("mount-s3", "mp-2")]],
  ["has a copy that has ended", [podIn("tenant", "mp-1", { phase: "Succeeded" })]],
  ["has a copy on another node", [podIn("tenant", "mp-1", { node: "worker-2" })]],
] as const)("works where a listed Mountpoint Pod %s", async ([, pods]) => {
  await expect(refuseOtherNamespaces(call, serverWith(pods), "mount-s3")).resolves.toBeUndefined();
});

it("asks again while the API server refuses", async () => {
  vi.useFakeTimers();
  const asked = refuseOtherNamespaces(call, serverWith([podIn("mount-s3")], 3), "mount-s3");
  await vi.runAllTimersAsync();
  await expect(asked).resolves.toBeUndefined();
  vi.useRealTimers();
});

it("SC-5 need not list where the caches have a listed Mountpoint Pod", () => {
  const view = emptyView();
  view.mountpointPods.put(`mount-s3/${mp(w1)}`, "1", pod(mp(w1)));
  expect(isNamespaceInUse(view, "mount-s3")).toBe(false);
  view.attachments.put("s3pa", "1", observed({ [mp(w1)]: [w1] }));
  expect(isNamespaceInUse(view, "mount-s3")).toBe(true);
  view.mountpointPods.remove(`mount-s3/${mp(w1)}`);
  expect(isNamespaceInUse(view, "mount-s3")).toBe(false);
});
