import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import { call } from "../../../test/support/fake-node.ts";
import { mountNamespaces, openInside } from "./mount-namespaces.ts";

it("finds no namespace of a zombie process", async () => {
  // A shell would wait for it; so it ends when the shell has become a program that does not.
  const script = 'exec 3<&0; read -r line <&3 & echo "$!"; exec sleep 1000 3<&-';
  const parent = spawn("sh", ["-c", script], { stdio: ["pipe", "pipe", "inherit"] });
  try {
    const [line] = (await once(createInterface(parent.stdout), "line")) as [string];
    const pid = Number(line);
    await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8")).toBe("sleep\n");
    parent.stdin.end();
    await expect.poll(() => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.[0]).toBe("Z");
    expect(await openInside("/proc", { id: "mnt:[1]", pids: [pid] })).toBeUndefined();
    expect((await mountNamespaces(call, "/proc")).flatMap(({ pids }) => pids)).not.toContain(pid);
  } finally {
    parent.kill("SIGKILL");
  }
});
