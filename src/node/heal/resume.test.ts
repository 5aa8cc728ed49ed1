import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeHealing, unseenInside } from "../../../test/support/fake-healing.ts";
import { call, intentOf, mountpointPod, source, target } from "../../../test/support/fake-node.ts";
import type { PodName } from "../../core/names.ts";
import { fuseDevice } from "../../linux/device-id.ts";
import type { Health } from "../../linux/fuse/probe.ts";
import { publish } from "../publish/publish.ts";
import type { PendingHeal } from "../records/pending-heals.ts";
import { resumePendingHeals, retryUndecided } from "./resume.ts";

let healing: FakeHealing;

beforeEach(() => {
  healing = new FakeHealing();
});

afterEach(() => healing[Symbol.asyncDispose]());

const heal: PendingHeal = { deviceId: fuseDevice(4000), mountpointPod, since: new Date(0), targets: [target] };

it("ends as soon as no heal is undecided", async () => {
  const reports: unknown[] = [];
  await retryUndecided(call, healing.rooms.healing, [], (delayed) => reports.push(delayed));
  expect(reports).toEqual([]);
});

it("does not look into containers any more when the program ends", async () => {
  await publish(call, healing.rooms.publishing, intentOf());
  const inside = unseenInside(healing.node, Infinity);
  let looks = 0;
  healing.swapWith({
    ...inside,
    holdDead: (...args) => {
      looks += 1;
      return inside.holdDead(...args);
    },
  });
  const program = new AbortController();
  const undecided = [{ heal, because: "its table is too large" }];
  await retryUndecided({ ...call, signal: program.signal }, healing.rooms.healing, undecided, () => program.abort());
  expect(looks).toBe(0);
});

interface Row {
  readonly what: string;
  readonly health: Health;
  readonly but?: Partial<PendingHeal>;
  /** Runs during the probe. */
  readonly meanwhile?: () => void;
  readonly outcome: "resumed" | "undecided" | "removed";
}

const ofAnother = { mountpointPod: "mp-of-another-volume" as PodName };
const unpublished = { targets: ["/kubelet/pods/gone/volumes/kubernetes.io~csi/photos-pv/mount"] };

it.for<Row>([
  { what: "is dead", health: "dead", outcome: "resumed" },
  { what: "serves: it is another with the same number", health: "serving", outcome: "removed" },
  { what: "is dead, but belongs to another Mountpoint Pod", health: "dead", but: ofAnother, outcome: "removed" },
  { what: "is replaced during the probe", health: "dead", meanwhile: mountedAnew, outcome: "removed" },
  { what: "does not answer", health: "hung", outcome: "undecided" },
  {
    what: "does not answer, and belongs to another Mountpoint Pod",
    health: "hung",
    but: ofAnother,
    outcome: "removed",
  },
  { what: "does not answer, and that no workload waits for", health: "hung", but: unpublished, outcome: "removed" },
])("LC-22 a pending heal whose mount $what is $outcome", async ({ health, but, meanwhile, outcome }) => {
  await publish(call, healing.rooms.publishing, intentOf());
  const { pendingHeals } = healing.rooms.records;
  const deviceId = healing.node.kernel.at(source)?.deviceId ?? fuseDevice(-1);
  const pending = { ...heal, deviceId, ...but };
  pendingHeals.add(pending);
  healing.node.kernel.probe = async () => {
    meanwhile?.();
    return health;
  };
  const undecided = await resumePendingHeals(call, healing.rooms.healing, [pending]);
  const silent = [`the mount at ${source} does not answer`];
  expect(undecided.map(({ because }) => because)).toEqual(outcome === "undecided" ? silent : []);
  expect(healing.rooms.sources.registry.dead.isKnown(deviceId)).toBe(outcome === "resumed");
  expect(pendingHeals.all).toEqual(outcome === "removed" ? [] : [pending]);
});

it("LC-22 keeps the record of a heal that goes on already", async () => {
  await publish(call, healing.rooms.publishing, intentOf());
  const deviceId = healing.node.kernel.at(source)?.deviceId ?? fuseDevice(-1);
  const pending = { ...heal, deviceId };
  healing.rooms.records.pendingHeals.add(pending);
  healing.rooms.sources.registry.dead.notice({ deviceId, mountPoint: source }, mountpointPod);
  expect(await resumePendingHeals(call, healing.rooms.healing, [pending])).toEqual([]);
  expect(healing.rooms.records.pendingHeals.all).toEqual([pending]);
});

it.for<{ what: string; but: Partial<PendingHeal>; isHeld: boolean }>([
  { what: "holds the file system of a container while it is healed", but: {}, isHeld: true },
  { what: "does not hold the file system of a container that it does not heal", but: ofAnother, isHeld: false },
])("$what", async ({ but, isHeld }) => {
  await publish(call, healing.rooms.publishing, intentOf());
  const deviceId = healing.node.kernel.at(source)?.deviceId ?? fuseDevice(-1);
  // One that serves is dead nowhere.
  healing.node.kernel.probe = async () => "hung";
  let released = 0;
  const pin = { [Symbol.dispose]: () => void (released += 1) };
  healing.swapWith({ ...unseenInside(healing.node, 0), holdDead: async () => ({ pin, unseen: [] }) });
  await resumePendingHeals(call, healing.rooms.healing, [{ ...heal, deviceId, ...but }]);
  expect(released).toBe(isHeld ? 0 : 1);
  healing.rooms.sources.registry.dead.remove(deviceId);
  expect(released).toBe(1);
});

it("does not look into containers for a mount that serves: a move has stored it", async () => {
  await publish(call, healing.rooms.publishing, intentOf());
  const deviceId = healing.node.kernel.at(source)?.deviceId ?? fuseDevice(-1);
  healing.swapWith(unseenInside(healing.node, Infinity));
  expect(await resumePendingHeals(call, healing.rooms.healing, [{ ...heal, deviceId }])).toEqual([]);
});

function mountedAnew(): void {
  const { kernel } = healing.node;
  const mount = kernel.at(source);
  if (mount === undefined) throw new Error("nothing is mounted");
  kernel.table = [...kernel.table, { ...mount, id: 4001, parentId: mount.id, deviceId: fuseDevice(4001) }];
}
