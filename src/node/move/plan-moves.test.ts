import { describe, expect, it } from "vitest";
import { noMove } from "../../core/mountpoint-pod-state.ts";
import { mountDevice, type PodName, type PodUid, type PvName } from "../../core/names.ts";
import { fuseDevice } from "../../linux/device-id.ts";
import { sourcePath, targetPath } from "../domain/target-path.ts";
import { MountTable } from "../mounts/mount-table.ts";
import { movesIn, successorsAmong } from "./plan-moves.ts";

const kubeletDir = "/var/lib/kubelet";
const [former, successor] = ["mp-1", "mp-2"] as [PodName, PodName];
const targetOf = (workload: string) =>
  targetPath(kubeletDir, { workload: workload as PodUid, persistentVolume: "pv" as PvName });
const [a, b] = [targetOf("a"), targetOf("b")] as const;

function table(...mounts: readonly (readonly [mountPoint: string, minor: number])[]): MountTable {
  const usual = { parentId: 1, root: "/", readOnly: false, fsType: "fuse", device: mountDevice, options: [] };
  const all = mounts.map(([mountPoint, minor], index) =>
    Object.assign({ id: index + 2, mountPoint, deviceId: fuseDevice(minor) }, usual),
  );
  return new MountTable(all, kubeletDir);
}

describe("moves", () => {
  const both = table([sourcePath(kubeletDir, former), 5], [a, 5], [b, 5], [sourcePath(kubeletDir, successor), 6]);
  const move = { from: former, to: successor, deviceId: fuseDevice(5) };
  it.for([
    ["none while attachments and mounts agree", both, { [a]: former, [b]: former }, []],
    [
      "all workloads that were assigned elsewhere",
      both,
      { [a]: successor, [b]: successor },
      [{ ...move, targets: [a, b] }],
    ],
    ["none of the others", both, { [a]: successor, [b]: former }, [{ ...move, targets: [a] }]],
    ["no workload that is in no attachment", both, { [a]: successor }, [{ ...move, targets: [a] }]],
    ["none of a mount whose source is gone", table([a, 5]), { [a]: successor }, []],
  ] as const)("%s", ([, mounts, holders, moves]) => {
    const assigned: Readonly<Record<string, PodName>> = holders;
    expect(movesIn(mounts, (target) => assigned[target])).toEqual(moves);
  });
});

describe("successors", () => {
  const pod = {
    name: successor,
    move: { ...noMove, replaces: former },
    phase: "running",
    terminating: false,
    needsUnmount: false,
  } as const;
  it.for([
    ["one that replaces another", {}, [{ name: successor, replaces: former }]],
    ["not one that replaces none", { move: noMove }, []],
    ["not one that is to be unmounted", { needsUnmount: true }, []],
    ["not one that is being deleted", { terminating: true }, []],
    ["not one that has ended", { phase: "succeeded" as const }, []],
  ] as const)("%s", ([, but, found]) => {
    expect(successorsAmong([{ ...pod, ...but }])).toEqual(found);
  });
});
