import { readFileSync } from "node:fs";

/** Of all threads of a process, so far. */
export function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  const [user, system] = fields.slice(11, 13).map(Number) as [number, number];
  return (user + system) * 10; // the kernel counts in hundredths of a second
}
