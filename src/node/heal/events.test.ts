/** What the owner of a workload reads when its mount-s3 has ended. */
import { beforeEach, describe, expect, it } from "vitest";
import { driverAccess } from "../../../test/support/fake-credentials.ts";
import { call, mountpointPod, podOf, target, targetOf, workload } from "../../../test/support/fake-node.ts";
import { DriverError } from "../../core/errors.ts";
import { eventCatalogue } from "../../core/failures/event-catalogue.ts";
import type { PodName, PodUid } from "../../core/names.ts";
import type { Happening } from "../../kube/event-writer.ts";
import { fuseDevice } from "../../linux/device-id.ts";
import { MountpointPods } from "../cluster/mountpoint-pods.ts";
import { MountRecords } from "../records/mount-records.ts";
import { noStorage } from "../records/tmpfs-storage.ts";
import { healEvents } from "./events.ts";
import type { HealReports } from "./heal.ts";

let mountpointPods: MountpointPods;
let reports: HealReports;
let emitted: string[];
let version: number;

beforeEach(() => {
  mountpointPods = new MountpointPods("mount-s3");
  mountpointPods.store.complete();
  [emitted, version] = [[], 0];
  const records = new MountRecords(noStorage);
  records.set(mountpointPod, { access: driverAccess } as Parameters<MountRecords["set"]>[1]);
  records.addUser(mountpointPod, target, { namespace: "shop", name: "app", uid: workload });
  // A Pod of a node plugin that did not know its name.
  records.addUser(mountpointPod, nameless, { namespace: "", name: "", uid: "nameless" as PodUid });
  const events = {
    record: (_: unknown, { metadata }: { metadata: { name: string } }, { reason, message, fix }: Happening) =>
      void emitted.push(`${metadata.name} ${reason}: ${message}. ${fix}`),
  };
  reports = healEvents({ records, mountpointPods }, events);
});

const nameless = targetOf("nameless" as PodUid);
const unknown = targetOf("unknown" as PodUid);

function put(pod: ReturnType<typeof podOf>): void {
  version += 1;
  mountpointPods.store.put(`mount-s3/${pod.name}`, String(version), pod);
}

const deadSince = (ms: number, name: PodName | undefined) => ({
  deviceId: fuseDevice(7),
  mountpointPod: name,
  since: new Date(Date.now() - ms),
});

function heal(name: PodName | undefined): void {
  const dead = deadSince(2500, name);
  reports.healed(call, { dead, mountpointPod, targets: [target, nameless, unknown], awayMs: 2510 });
}

function delay(because: Error, ms: number): void {
  reports.delayed(call, { dead: deadSince(ms, mountpointPod), targets: [target, nameless, unknown], because });
}

describe("VolumeHealed says why mount-s3 ended:", () => {
  const soon = { timeout: 10_000, interval: 5 };
  const ended = { exitCode: 137, reason: "OOMKilled", message: "", finishedAt: "2999-01-01T00:00:00Z" };

  it("the status message of its Pod", async () => {
    put(podOf({ phase: "failed", explanation: "Evicted: out of memory" }));
    heal(mountpointPod);
    await expect
      .poll(() => emitted, soon)
      .toEqual([
        `app VolumeHealed: mount-s3 ended (Evicted: out of memory, in Mountpoint Pod ${mountpointPod}); the volume was away for 2.5 s and works again. ` +
          "Files that were open then give errors until they are opened again, and a file that was being written is lost.",
      ]);
  });

  it("the exit code, once kubelet has reported it", async () => {
    put(podOf());
    heal(mountpointPod);
    await new Promise(setImmediate);
    expect(emitted).toEqual([]);
    put(podOf({ lastTermination: ended }));
    await expect
      .poll(() => emitted, soon)
      .toEqual([expect.stringContaining(`(OOMKilled, exit code 137, in Mountpoint Pod ${mountpointPod})`)]);
  });

  it("the last status message of a Pod that was deleted", async () => {
    put(podOf({ phase: "failed", explanation: "Evicted" }));
    mountpointPods.store.remove(`mount-s3/${mountpointPod}`);
    heal(mountpointPod);
    await expect
      .poll(() => emitted, soon)
      .toEqual([expect.stringContaining(`(Evicted, in Mountpoint Pod ${mountpointPod})`)]);
  });

  it("only the deletion, if the Pod had no status message, or was deleted long ago", async () => {
    put(podOf({ phase: "failed", explanation: "Evicted" }));
    mountpointPods.store.remove(`mount-s3/${mountpointPod}`);
    for (let index = 0; index < 100; index += 1) {
      put(podOf({ name: `mp-${index}` as PodName }));
      mountpointPods.store.remove(`mount-s3/mp-${index}`);
    }
    heal(mountpointPod);
    heal("mp-99" as PodName);
    await expect
      .poll(() => emitted, soon)
      .toEqual([
        expect.stringContaining(`(its Mountpoint Pod ${mountpointPod} was deleted)`),
        expect.stringContaining("(its Mountpoint Pod mp-99 was deleted)"),
      ]);
  });

  it("the Pod alone, if kubelet gave no exit code", async () => {
    put(podOf({ phase: "failed" }));
    heal(mountpointPod);
    await expect.poll(() => emitted, soon).toEqual([expect.stringContaining(`(in Mountpoint Pod ${mountpointPod})`)]);
  });

  it("that it is not known, if the node plugin was away", async () => {
    heal(undefined);
    await expect.poll(() => emitted, soon).toEqual([expect.stringContaining("(while the node plugin was away)")]);
  });
});

describe("VolumeNotHealed", () => {
  it("names cause and remedy", () => {
    delay(new DriverError("notReady", "there is no room", { hint: "Make room." }), 4000);
    delay(new DriverError("notReady", "it hangs"), 4000);
    delay(new Error("no such device"), 4000);
    const begin =
      "app VolumeNotHealed: mount-s3 ended, and files give ENOTCONN (Transport endpoint is not connected): ";
    const { fix } = eventCatalogue.VolumeNotHealed;
    expect(emitted).toEqual([
      `${begin}there is no room. Make room.`,
      `${begin}it hangs. ${fix}`,
      `${begin}no such device. ${fix}`,
    ]);
  });

  it("is not emitted in the first seconds, in which most mounts are healed", () => {
    delay(new Error("not yet"), 2000);
    expect(emitted).toEqual([]);
  });
});
