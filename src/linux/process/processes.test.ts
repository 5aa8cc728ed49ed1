import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path/posix";
import { afterAll, beforeAll, expect, it } from "vitest";
import { cpuTimeNs, podUidOf, startOf } from "./processes.ts";

const uid = "a4509011-bd2a-4f37-b1b0-05d715087852";
let proc: string;

beforeAll(() => {
  proc = mkdtempSync(join(tmpdir(), "proc-"));
});

afterAll(() => rmSync(proc, { recursive: true }));

it.for([
  { by: "cgroupfs", line: `0::/kubepods/burstable/pod${uid}/0123abcd`, is: uid },
  {
    by: "systemd",
    line: `0::/../../kubepods-besteffort-pod${uid.replaceAll("-", "_")}.slice/cri-containerd-0123abcd.scope`,
    is: uid,
  },
  { by: "no Pod: a process of the host", line: "0::/system.slice/podman.service", is: undefined },
  { by: "no Pod: the process has ended", line: undefined, is: undefined },
])("the Pod of a process is known by its cgroup, named by $by", ({ line, is }) => {
  rmSync(join(proc, "7"), { recursive: true, force: true });
  mkdirSync(join(proc, "7"));
  if (line !== undefined) writeFileSync(join(proc, "7", "cgroup"), `${line}\n`);
  expect(podUidOf(proc, 7)).toBe(is);
});

it.for([
  { threads: ["100 5 2", "23 0 1"], is: 123 },
  { threads: ["100 5 2", undefined], is: undefined, why: "one of them cannot be read" },
  { threads: ["100 5 2", ""], is: undefined, why: "the time of one thread is unknown" },
  { threads: ["0 0 0", "0 0 0"], is: undefined, why: "the kernel keeps no such figures" },
  { threads: [], is: undefined, why: "there is no process" },
])("processor time of $threads is $is ($why)", ({ threads, is }) => {
  rmSync(join(proc, "8"), { recursive: true, force: true });
  for (const [index, line] of threads.entries()) {
    const task = join(proc, "8", "task", String(8 + index));
    mkdirSync(task, { recursive: true });
    writeFileSync(join(proc, "8", "comm"), "mount-s3\n");
    writeFileSync(join(proc, "8", "cgroup"), `0::/kubepods/pod${uid}/0123abcd\n`);
    if (line !== undefined) writeFileSync(join(task, "schedstat"), `${line}\n`);
  }
  expect(cpuTimeNs(proc, { podUid: uid, program: "mount-s3" })).toBe(is);
});

it("reads the start time of a process with any program name, and returns undefined for one that has ended", () => {
  mkdirSync(join(proc, "9"));
  const numbers = Array.from({ length: 18 }, (_, index) => index).join(" ");
  writeFileSync(join(proc, "9", "stat"), `9 (a) R (\n) 1) S ${numbers} 4711 20 21\n`);
  expect([startOf(proc, 9), startOf(proc, 10)]).toEqual(["4711", undefined]);
  expect(Number(startOf("/proc", process.pid))).toBeGreaterThan(0);
});
