import { expect, it } from "vitest";
import { driverAccess } from "../../../test/support/fake-credentials.ts";
import { mapStorage } from "../../../test/support/fake-healing.ts";
import { call } from "../../../test/support/fake-node.ts";
import type { PodName, PodUid, PvName, VolumeId } from "../../core/names.ts";
import type { StoreName } from "../../core/stores/store.ts";
import type { Happening } from "../../kube/event-writer.ts";
import { MountRecords } from "../records/mount-records.ts";
import { RefusedUploads } from "./refused-uploads.ts";
import { VolumeFigures } from "./volume-figures.ts";

const name = "mp-1" as PodName;

class World {
  readonly events: (readonly [string, Happening])[] = [];
  readonly #figures = new VolumeFigures();
  readonly #refused: RefusedUploads;

  constructor(args: readonly string[] = [], store = "default") {
    const records = new MountRecords(mapStorage());
    records.set(name, {
      persistentVolume: "pv" as PvName,
      volumeId: "photos" as VolumeId,
      workload: "u1" as PodUid,
      pidNamespace: "private",
      request: { bucketName: "photos", args, env: {} },
      access: { ...driverAccess, store: store as StoreName },
    });
    records.addUser(name, "/target", { namespace: "default", name: "app", uid: "u1" as PodUid });
    this.#refused = new RefusedUploads({
      receivers: { figures: [[name, this.#figures]] },
      records,
      events: { record: (_call, { metadata }, happening) => this.events.push([metadata.name, happening]) },
    });
  }

  exported(operation: string, status: string, value: number): void {
    const attributes = { s3_request: operation, http_status: status };
    const point = { name: "s3.request_errors", attributes, value, count: 0, startNs: 1n };
    this.#figures.add([{ ...point, kind: "sum", temporality: "cumulative" } as never]);
    this.#refused.look(call);
  }
}

it.for([
  ["501", "default", "s3.uploadChecksums"],
  ["400", "ring", "s3.stores.ring.uploadChecksums"],
] as const)(
  "ID-5 a store that answers uploads with %s leads to an event with the setting",
  ([status, store, value]) => {
    const world = new World([], store);
    world.exported("PutObject", status, 1);
    expect(world.events).toMatchObject([
      ["app", { reason: "UploadsRefused", message: expect.stringContaining(`PutObject with HTTP status ${status}`) }],
    ]);
    expect(world.events[0]?.[1].fix).toContain(value);
  },
);

it("ID-5 a refusal is told once, and the next one again", () => {
  const world = new World();
  world.exported("PutObject", "501", 1);
  world.exported("PutObject", "501", 1);
  expect(world.events).toHaveLength(1);
  world.exported("PutObject", "501", 2);
  expect(world.events).toHaveLength(2);
});

it.for([
  ["a request that reads", [], "GetObject", "501"],
  ["a refusal of rights", [], "PutObject", "403"],
  ["a store that is busy", [], "PutObject", "503"],
  ["a mount without checksums", ["--upload-checksums=off"], "PutObject", "501"],
] as const)("ID-5 %s is not taken for a store without trailing checksums", ([, args, operation, status]) => {
  const world = new World(args);
  world.exported(operation, status, 1);
  expect(world.events).toEqual([]);
});
