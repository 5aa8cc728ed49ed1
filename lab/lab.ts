/**
 * A real Kubernetes cluster with an S3 server on this machine, in namespaces of its own.
 *
 * Everything about a running lab can be found again by its name: files under its state directory say which process is
 * which. So a test, `./dev kubectl` and `./dev down` each open the same lab, and none of them has to stay.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { auditPolicy, auditPolicyFile } from "./audit.ts";
import { Component } from "./component.ts";
import { controlPlane, objectStore, type Programs } from "./control-plane.ts";
import { LabNode } from "./lab-node.ts";
import { type Layout, labsDirectory, layoutOf, network, nodeAddress } from "./layout.ts";
import { lockFile } from "./lock-file.ts";
import { minioComponents } from "./minio.ts";
import { hubInit, inside, startDetached } from "./namespaces.ts";
import { makePki, writeKubeconfig } from "./pki.ts";
import { Problem } from "./problem.ts";
import { isAlive, type ProcessId, parentOf, processesWith, signalProcess, untilEnded } from "./process-id.ts";
import type { Progress } from "./progress.ts";
import { prometheusComponent } from "./prometheus.ts";
import { attempt, type Finished, type RunOptions, run } from "./run.ts";
import { rootAccount, s3Endpoint, tenantAccount } from "./s3.ts";

export interface LabSpec {
  readonly name: string;
  readonly nodes: number;
  /** Root directory of every kubelet, where it is not the usual one. */
  readonly kubeletRoot?: string;
}

interface Stored extends LabSpec {
  readonly programs: Programs;
}

const keeperScript = join(dirname(fileURLToPath(import.meta.url)), "keeper.sh");
const startLimitMs = 180_000;

export class Lab {
  readonly layout: Layout;
  readonly spec: LabSpec;
  readonly programs: Programs;
  readonly nodes: readonly LabNode[];
  readonly #components: readonly Component[];

  private constructor(stored: Stored) {
    const { programs, ...spec } = stored;
    this.spec = spec;
    this.programs = programs;
    this.layout = layoutOf(stored.name);
    const hub = () => this.hub;
    const components = [
      ...controlPlane(this.layout, this.programs),
      ...objectStore(this.layout, this.programs),
      ...minioComponents(this.layout),
      ...prometheusComponent(this.layout),
    ];
    this.#components = components.map((component) => new Component(this.layout, component, hub));
    const indexes = Array.from({ length: stored.nodes }, (_, index) => index + 1);
    this.nodes = indexes.map(
      (index) => new LabNode(this.layout, nodeAddress(index, spec.kubeletRoot), this.programs, hub),
    );
  }

  /** Starts a lab; whatever an earlier one of this name left is removed first. An abort on the way leaves nothing. */
  static async start(signal: AbortSignal, spec: LabSpec, programs: Programs, progress: Progress): Promise<Lab> {
    checkName(spec.name);
    await mkdir(labsDirectory, { recursive: true });
    await using _lock = await lockFile(signal, join(labsDirectory, `.${spec.name}.lock`));
    await Lab.#remove(spec.name);
    const lab = new Lab({ ...spec, programs });
    const limited = AbortSignal.any([signal, AbortSignal.timeout(startLimitMs)]);
    try {
      await progress.task(`start the control plane of lab "${spec.name}"`, () => lab.#startHub(limited));
      await progress.task(`start ${spec.nodes} nodes`, () => lab.#startNodes(limited));
      await writeFile(join(lab.layout.state, "ready"), "");
      return lab;
    } catch (error) {
      const words = lab.#lastWords();
      await Lab.#remove(spec.name);
      if (signal.aborted) throw signal.reason;
      throw new Error(`the lab did not start\n${words}`, { cause: error });
    }
  }

  /** The running lab of this name, if there is one that was started to the end. */
  static open(name: string): Lab | undefined {
    checkName(name);
    const { state } = layoutOf(name);
    if (!existsSync(join(state, "ready"))) return undefined;
    const lab = new Lab(JSON.parse(readFileSync(join(state, "lab.json"), "utf8")) as Stored);
    return isAlive(lab.hub) ? lab : undefined;
  }

  /** Names of all labs that left anything on this machine, running or not. */
  static async names(): Promise<readonly string[]> {
    if (!existsSync(labsDirectory)) return [];
    return (await readdir(labsDirectory)).filter((name) => !name.startsWith("."));
  }

  /** Ends a lab, in whatever state it is, and removes every trace of it. Nothing there is fine, too. */
  static async remove(signal: AbortSignal, name: string): Promise<void> {
    checkName(name);
    if (!existsSync(labsDirectory)) return;
    await using _lock = await lockFile(signal, join(labsDirectory, `.${name}.lock`));
    await Lab.#remove(name);
  }

  get hub(): ProcessId {
    return JSON.parse(readFileSync(join(this.layout.state, "hub.json"), "utf8")) as ProcessId;
  }

  /** A program of the lab by name: "etcd", "kube-apiserver", "worker-1/kubelet", … */
  component(name: string): Component {
    const all = this.#all;
    const found = all.find((component) => component.name === name);
    if (found !== undefined) return found;
    throw new Problem(`there is no component "${name}"`, `use one of: ${all.map((one) => one.name).join(", ")}`);
  }

  componentNames(): readonly string[] {
    return this.#all.map((component) => component.name);
  }

  node(name: string): LabNode {
    const found = this.nodes.find((node) => node.name === name);
    if (found !== undefined) return found;
    throw new Problem(`there is no node "${name}"`, `use one of: ${this.nodes.map((one) => one.name).join(", ")}`);
  }

  /** The command line that runs a program with the lab's network and this machine's files. */
  inNetwork(argv: readonly string[]): readonly string[] {
    return ["nsenter", `--target=${this.hub.pid}`, "--net", "--", ...argv];
  }

  kubectl(args: readonly string[], options: RunOptions): Promise<string> {
    return run(this.inNetwork(this.#kubectl(args)), options);
  }

  tryKubectl(args: readonly string[], options: RunOptions): Promise<Finished> {
    return attempt(this.inNetwork(this.#kubectl(args)), options);
  }

  /** Gives an image archive to every node. */
  async load(signal: AbortSignal, archive: string): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.load(signal, archive)));
  }

  async stop(signal: AbortSignal): Promise<void> {
    await Lab.remove(signal, this.spec.name);
  }

  async untilApiAnswers(signal: AbortSignal): Promise<void> {
    const answers = async () => (await this.tryKubectl(["get", "--raw", "/readyz"], { signal })).code === 0;
    await this.#until(signal, answers, [this.component("etcd"), this.component("kube-apiserver")]);
  }

  get #all(): readonly Component[] {
    return [...this.#components, ...this.nodes.flatMap((node) => node.components)];
  }

  #kubectl(args: readonly string[]): readonly string[] {
    return [join(this.programs.kubernetes, "kubectl"), `--kubeconfig=${this.layout.kubeconfig}`, ...args];
  }

  async #startHub(signal: AbortSignal): Promise<void> {
    const { state, cgroups, pki, kubeconfig } = this.layout;
    for (const name of ["s3/iam", "s3/buckets", "s3/versions", "logs"])
      await mkdir(join(state, name), { recursive: true });
    await writeFile(join(state, "lab.json"), JSON.stringify({ ...this.spec, programs: this.programs }));
    await writeFile(auditPolicyFile(this.layout), JSON.stringify(auditPolicy));
    const script = await readFile(keeperScript, "utf8");
    startDetached(["sh", "-c", script, "s3-csi-lab-keeper", "hold", state, cgroups], "ignore");
    const init = await hubInit(signal, join(state, "unshare.pid"));
    await writeFile(join(state, "hub.json"), JSON.stringify(init));
    const addresses = this.nodes.map((node) => node.address);
    await Promise.all([run(inside(init, ["sh", "-c", hubScript]), { signal }), makePki(signal, pki, addresses)]);
    const parties = ["controller-manager", "scheduler", "proxy", ...addresses.map(({ name }) => name)];
    await writeKubeconfig(pki, "admin", kubeconfig);
    await Promise.all(parties.map((party) => writeKubeconfig(pki, party, join(pki, `${party}.kubeconfig`))));
    const always = this.#components.filter((one) => !one.onDemand);
    for (const component of always.filter((one) => !one.afterApi)) await component.start(signal);
    await Promise.all([this.untilApiAnswers(signal), this.#createTenant(signal)]);
    for (const component of always.filter((one) => one.afterApi)) await component.start(signal);
  }

  async #startNodes(signal: AbortSignal): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.powerOn(signal)));
    await this.#until(signal, async () => {
      const ready = await this.kubectl(["get", "nodes", "-o", readyConditions], { signal });
      return ready.split(" ").filter((status) => status === "True").length === this.nodes.length;
    });
  }

  async #createTenant(signal: AbortSignal): Promise<void> {
    const { accessKeyId, secretAccessKey } = rootAccount;
    const admin = ["admin", "--access", accessKeyId, "--secret", secretAccessKey, "--endpoint-url", s3Endpoint];
    const { accessKeyId: access, secretAccessKey: secret } = tenantAccount;
    const user = ["create-user", "--access", access, "--secret", secret, "--role", "userplus"];
    const argv = this.inNetwork([join(this.programs.kubernetes, "versitygw"), ...admin, ...user]);
    await this.#until(signal, async () => (await attempt(argv, { signal })).code === 0);
  }

  /** Waits for a state of the cluster, but not for a program that has ended. */
  async #until(signal: AbortSignal, probe: () => Promise<boolean>, needed = this.#all): Promise<void> {
    while (!(await probe())) {
      const dead = this.#ended().filter((one) => needed.some(({ name }) => name === one.name));
      if (dead.length > 0) throw new Error(`${dead.map(({ name }) => name).join(", ")} ended`);
      await delay(100, undefined, { signal });
    }
  }

  /** Components that were started and run no more. */
  #ended(): readonly Component[] {
    return this.#all.filter((one) => one.process === undefined && existsSync(one.logFile));
  }

  #lastWords(): string {
    return this.#ended()
      .map((one) => `${one.name}: ${one.log().trim().split("\n").slice(-5).join("\n")}`)
      .join("\n");
  }

  /** Deliberately without a signal: half a removal is what this is there to prevent. */
  static async #remove(name: string): Promise<void> {
    const { state, cgroups } = layoutOf(name);
    const patience = AbortSignal.timeout(240_000);
    const keepers = processesWith(`s3-csi-lab-keeper\0hold\0${state}\0`);
    const outer = outerProcesses(state);
    for (const inits of await hubsOf(state)) signalProcess(inits, "SIGKILL");
    for (const each of outer) signalProcess(each, "SIGCONT");
    for (const keeper of keepers) await untilEnded(keeper, patience);
    const script = await readFile(keeperScript, "utf8");
    await run(["sh", "-c", script, "s3-csi-lab-keeper", "clean", state, cgroups], { signal: patience });
  }
}

/**
 * nsenter stops with a program that is stopped, and does not reap it then: the kernel would wait for that before it ends the namespaces.
 */
function outerProcesses(state: string): readonly ProcessId[] {
  const directory = join(state, "pids");
  if (!existsSync(directory)) return [];
  const files = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".json"));
  const programs = files.map((name) => JSON.parse(readFileSync(join(directory, name), "utf8")) as ProcessId);
  return programs.filter(isAlive).flatMap(({ pid }) => parentOf(pid) ?? []);
}

/** The init process may be known from its file, or only be a child of `unshare` when the start was cut short. */
async function hubsOf(state: string): Promise<readonly ProcessId[]> {
  if (!existsSync(join(state, "unshare.pid"))) return [];
  const short = AbortSignal.timeout(5000);
  try {
    return [await hubInit(short, join(state, "unshare.pid"))];
  } catch {
    // It has ended already, which is what we want.
    return [];
  }
}

const hubScript = [
  "set -eu",
  "mount --make-rshared /",
  "ip link set lo up",
  "ip link add br0 type bridge",
  `ip addr add ${network.hub}/24 dev br0`,
  "ip link set br0 up",
  "echo 1 >/proc/sys/net/ipv4/ip_forward",
].join("\n");

const readyConditions = "jsonpath={range .items[*]}{.status.conditions[?(@.type=='Ready')].status} {end}";

export function checkName(name: string): void {
  if (/^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$/.test(name)) return;
  throw new Problem(
    `"${name}" cannot be the name of a lab`,
    "use at most 20 small letters, digits and dashes, for example --name dev2",
  );
}
