/** The lab itself: what tests rely on has tests, too. Those that end a lab start one of their own. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Lab } from "../../lab/lab.ts";
import { inside } from "../../lab/namespaces.ts";
import { isAlive, processesWith, signalProcess, untilEnded } from "../../lab/process-id.ts";
import type { Progress } from "../../lab/progress.ts";
import { attempt, run } from "../../lab/run.ts";
import { openCluster } from "../support/cluster.ts";

const { programs, spec } = openCluster().lab;
const quiet: Progress = { task: (_title, work) => work({ at: () => undefined }), say: () => undefined };
const patience = () => AbortSignal.timeout(240_000);
const name = `${spec.name}-own`;

afterEach(async () => {
  await Lab.remove(patience(), name);
});

it("leaves no process, mount, interface, cgroup or file behind when its init is killed", async () => {
  const before = { mounts: mounts(), links: await links() };
  const lab = await Lab.start(patience(), { name, nodes: 1 }, programs, quiet);
  const { state, cgroups } = lab.layout;
  const inits = [lab.hub, lab.node("worker-1").init];
  const namespaces = inits.map(({ pid }) => readlinkSync(`/proc/${pid}/ns/pid`));
  expect(cgroupsOf(cgroups)).not.toEqual([]);
  expect(membersOf(namespaces).length).toBeGreaterThan(8);
  const keepers = processesWith(`s3-csi-lab-keeper\0hold\0${state}\0`);

  signalProcess(lab.hub, "SIGKILL");
  for (const keeper of keepers) await untilEnded(keeper, patience());

  expect(inits.map(isAlive)).toEqual([false, false]);
  expect(membersOf(namespaces)).toEqual([]);
  expect(cgroupsOf(cgroups)).toEqual([]);
  expect(existsSync(state)).toBe(false);
  expect({ mounts: mounts(), links: await links() }).toEqual(before);
});

it("cleans up at the next start what a lab left whose keeper was killed as well", async () => {
  const lab = await Lab.start(patience(), { name, nodes: 1 }, programs, quiet);
  for (const keeper of processesWith(`s3-csi-lab-keeper\0hold\0${lab.layout.state}\0`)) {
    signalProcess(keeper, "SIGKILL");
    await untilEnded(keeper, patience());
  }
  signalProcess(lab.hub, "SIGKILL");
  await untilEnded(lab.hub, patience());
  expect(existsSync(lab.layout.state)).toBe(true);

  const next = await Lab.start(patience(), { name, nodes: 0 }, programs, quiet);
  expect(cgroupsOf(next.layout.cgroups)).toEqual([]);
  expect(await next.kubectl(["get", "nodes", "-o", "name"], { signal: patience() })).toBe("");
});

it("removing a lab twice, or one that never was, is fine", async () => {
  await Lab.remove(patience(), name);
  await Lab.remove(patience(), name);
  expect(Lab.open(name)).toBeUndefined();
});

it("an interrupted start leaves nothing", async () => {
  const interrupted = AbortSignal.any([AbortSignal.timeout(1500), patience()]);
  const start = Lab.start(interrupted, { name, nodes: 1 }, programs, quiet);
  await expect(start).rejects.toMatchObject({ name: "TimeoutError" });
  expect(await Lab.names()).not.toContain(name);
});

describe("one lab", () => {
  let lab: Lab;

  beforeAll(async () => {
    lab = await Lab.start(patience(), { name: `${spec.name}-one`, nodes: 1 }, programs, quiet);
  });

  afterAll(() => Lab.remove(patience(), `${spec.name}-one`));

  it("no packet leaves: the hub has no interface but its bridge and the nodes' ports, and no route out", async () => {
    const onHub = (...argv: readonly string[]) => run(inside(lab.hub, argv), { signal: patience() });
    const interfaces = (await onHub("ip", "-o", "link", "show")).trim().split("\n");
    const names = interfaces.map((line) => /^\d+: ([^:@]+)/.exec(line)?.[1] ?? line);
    expect(names.toSorted()).toEqual(["br0", "lo", "port-1"]);
    expect(await onHub("ip", "route", "show", "default")).toBe("");
    const fromNode = await attempt(inside(lab.node("worker-1").init, ["ping", "-c1", "-W2", "192.0.2.1"]), {
      signal: patience(),
    });
    expect(fromNode.stdout).toContain("Net Unreachable");
  });

  it("a node that loses power comes back Ready, and one that is cut off does not answer meanwhile", async () => {
    const node = lab.node("worker-1");
    const reach = () => attempt(inside(lab.hub, ["ping", "-c1", "-W1", node.address.address]), { signal: patience() });

    await node.cutOff(patience());
    expect((await reach()).code).not.toBe(0);
    await node.rejoin(patience());
    await expect.poll(async () => (await reach()).code, { timeout: 60_000 }).toBe(0);

    const bootId = () =>
      lab.kubectl(["get", "node", node.name, "-o", "jsonpath={.status.nodeInfo.bootID}"], { signal: patience() });
    expect(await bootId()).not.toBe("");
    await node.powerOff(patience());
    expect(node.isOn).toBe(false);
    const status = [
      "get",
      "node",
      node.name,
      "-o",
      "jsonpath={.status.conditions[?(@.type=='Ready')].lastHeartbeatTime}",
    ];
    // Read while it is off: kubelet reports when it starts, and then not for five minutes if nothing changes.
    const before = await lab.kubectl(status, { signal: patience() });
    await node.powerOn(patience());
    await expect.poll(() => lab.kubectl(status, { signal: patience() }), { timeout: 120_000 }).not.toBe(before);
  });

  it("any component can be killed and started again", async () => {
    const apiServer = lab.component("kube-apiserver");
    await apiServer.kill(patience());
    expect((await lab.tryKubectl(["get", "--raw", "/readyz"], { signal: patience() })).code).not.toBe(0);
    await apiServer.start(patience());
    await lab.untilApiAnswers(patience());
    expect(apiServer.log()).toContain("Serving securely");
  });
});

it("refuses a name that could not be used", async () => {
  await expect(Lab.remove(patience(), "../../etc")).rejects.toThrow("cannot be the name of a lab");
});

function mounts(): string {
  return readFileSync("/proc/self/mountinfo", "utf8");
}

function links(): Promise<string> {
  return run(["ip", "-o", "link", "show"], { signal: patience() });
}

function cgroupsOf(prefix: string): readonly string[] {
  const controllers = readdirSync("/sys/fs/cgroup", { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return controllers.flatMap(({ name: controller }) =>
    readdirSync(`/sys/fs/cgroup/${controller}`).filter((entry) => entry.startsWith(prefix)),
  );
}

/** Processes that live in one of these pid namespaces. */
function membersOf(namespaces: readonly string[]): readonly string[] {
  return readdirSync("/proc").filter((entry) => {
    if (!/^\d+$/.test(entry)) return false;
    try {
      return namespaces.includes(readlinkSync(`/proc/${entry}/ns/pid`));
    } catch {
      // It ended between the listing and the look.
      return false;
    }
  });
}
