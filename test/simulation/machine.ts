/** What outlives a node plugin on a node: the kernel, the containers of Mountpoint Pods, and the tmpfs with the records. */
import type { PodName, PodUid } from "../../src/core/names.ts";
import type { DeviceId } from "../../src/linux/device-id.ts";
import { sourcePath, sourcesDir, targetAt } from "../../src/node/domain/target-path.ts";
import type { CommVolume, CommVolumes, Connection } from "../../src/node/mounts/comm-volume.ts";
import type { Kernel } from "../../src/node/mounts/kernel.ts";
import type { Swapper } from "../../src/node/swap/swap.ts";
import { mapStorage, swapperOn } from "../support/fake-healing.ts";
import { FakeKernel } from "../support/fake-kernel.ts";
import type { SimulatedProcess } from "./process.ts";

export const kubeletDir = "/kubelet";

/** The mounter of a Mountpoint Pod, or the mount-s3 that it became. */
interface Container {
  readonly name: PodName;
  state: "listening" | "serving" | { readonly exitCode: number };
  deviceId?: DeviceId;
  hangUp?: () => void;
}

export class Machine {
  readonly kernel = new FakeKernel();
  readonly records = mapStorage();
  readonly #containers = new Map<PodUid, Container>();
  /** Mountpoint Pods whose exit file exists. */
  readonly #exitFiles = new Set<PodUid>();
  /** Which Mountpoint Pod has served a device. */
  readonly #owners = new Map<DeviceId, PodName>();
  readonly #listeners = new Map<PodUid, Set<() => void>>();
  /** Workload → the device that its container has mounted. Only a swap in the container changes it. */
  readonly #inContainers = new Map<PodUid, DeviceId>();
  readonly #onBroken: (what: string) => void;

  constructor(onBroken: (what: string) => void) {
    this.#onBroken = onBroken;
    this.kernel.onMountChange(() => this.#endUnmounted());
  }

  /** Workload → the Mountpoint Pod whose file system it has at its target, or in its container. */
  get binds(): ReadonlyMap<PodUid, PodName> {
    const devices = new Map(
      this.kernel.table.flatMap(({ mountPoint }) => {
        const { workload } = targetAt(kubeletDir, mountPoint) ?? {};
        const { deviceId } = this.kernel.at(mountPoint) ?? {};
        return workload === undefined || deviceId === undefined ? [] : [[workload, deviceId] as const];
      }),
    );
    const all = [...devices, ...this.#inContainers];
    const owned = all.map(([workload, deviceId]) => [workload, this.#owners.get(deviceId)] as const);
    return new Map(owned.flatMap(([workload, owner]) => (owner === undefined ? [] : [[workload, owner] as const])));
  }

  /** Whether mount-s3 answers the container of the workload. */
  isServed(workload: PodUid): boolean {
    const device = this.#inContainers.get(workload);
    return this.#serving.some(({ deviceId }) => deviceId === device);
  }

  /** Whether the workload has a container that started and has not stopped. */
  hasContainer(workload: PodUid): boolean {
    return this.#inContainers.has(workload);
  }

  /** kubelet starts the container of a workload with what is mounted at its target now. */
  startWorkload(workload: PodUid): void {
    const target = this.kernel.table.findLast(
      ({ mountPoint }) => targetAt(kubeletDir, mountPoint)?.workload === workload,
    );
    const { deviceId } = (target && this.kernel.at(target.mountPoint)) ?? {};
    if (deviceId === undefined || !this.#serving.some((one) => one.deviceId === deviceId)) {
      this.#onBroken(`${workload} starts without a mount that works`); // DS-6
    } else this.#inContainers.set(workload, deviceId);
  }

  /** Besides those of workloads there are always others, such as that of the node plugin. */
  podsWithProcesses(): ReadonlySet<string> {
    return new Set(["another-pod", ...this.#inContainers.keys()]);
  }

  stopWorkload(workload: PodUid): void {
    this.#inContainers.delete(workload);
    this.#endUnmounted();
  }

  /** What is left on the node. */
  get traces(): readonly string[] {
    return this.kernel.table.map(({ mountPoint }) => mountPoint);
  }

  /** kubelet starts the container. A mounter that finds the exit file ends at once. */
  start(uid: PodUid, name: PodName): void {
    const state = this.#exitFiles.has(uid) ? { exitCode: 0 } : "listening";
    this.#containers.set(uid, { name, state });
    this.#notify(uid);
  }

  /** undefined: there is no container, or it runs. */
  exitCode(uid: PodUid): number | undefined {
    const { state } = this.#containers.get(uid) ?? {};
    return typeof state === "object" ? state.exitCode : undefined;
  }

  kill(uid: PodUid): void {
    const container = this.#containers.get(uid);
    if (container !== undefined) this.#exit(container, 137);
  }

  /** SIGTERM. mount-s3 blocks it. */
  terminate(uid: PodUid): void {
    const container = this.#containers.get(uid);
    if (container?.state === "listening") this.#exit(container, 143);
  }

  /** kubelet removes the Pod, its containers and its volumes. */
  remove(uid: PodUid): void {
    this.kill(uid);
    this.#containers.delete(uid);
    this.#exitFiles.delete(uid);
    this.#notify(uid);
  }

  /** The kernel as one process of the node plugin uses it: nothing arrives at a process that has died. */
  kernelFor(process: SimulatedProcess): Kernel {
    const { kernel } = this;
    const own: Partial<Kernel> = {
      onMountChange: (listener) => kernel.onMountChange(() => process.deliver(listener)),
      probe: (call, mountPoint, limitMs) =>
        new Promise((resolve, reject) => {
          kernel.probe(call, mountPoint, limitMs).then(
            (health) => process.deliver(() => resolve(health)),
            (error: unknown) => process.deliver(() => reject(error)),
          );
        }),
      podsWithProcesses: () => this.podsWithProcesses(),
      unmount: (path) => {
        this.#checkUnmount(path);
        return kernel.unmount(path);
      },
    };
    return new Proxy(kernel, {
      get: (_, name) => {
        const member = Reflect.get(own, name) ?? Reflect.get(kernel, name);
        return typeof member === "function" ? member.bind(kernel) : member;
      },
    });
  }

  swapper(): Swapper {
    const onNode = swapperOn(this.kernel);
    return {
      swap: async (call, deviceId, source, scope) => {
        const swapped = await onNode.swap(call, deviceId, source, scope);
        const now = this.kernel.at(source)?.deviceId;
        for (const [workload, has] of this.#inContainers) {
          const isInScope = scope === undefined || scope.workloads.has(workload);
          if (has === deviceId && now !== undefined && isInScope) this.#inContainers.set(workload, now);
        }
        return swapped;
      },
      holdDead: async (_call, deviceId) => {
        const isHeld = [...this.#inContainers.values()].includes(deviceId);
        return { pin: isHeld ? { [Symbol.dispose]: () => undefined } : undefined, unseen: [] };
      },
    };
  }

  commFor(process: SimulatedProcess): CommVolumes {
    return {
      open: (uid) => (this.#containers.has(uid) ? this.#volume(uid, process) : undefined),
      subscribe: (uid, listener) => {
        const listeners = this.#listeners.get(uid) ?? new Set();
        const arrives = () => process.deliver(listener);
        this.#listeners.set(uid, listeners.add(arrives));
        return { [Symbol.dispose]: () => listeners.delete(arrives) };
      },
    };
  }

  get #serving(): readonly Container[] {
    return [...this.#containers.values()].filter(({ state }) => state === "serving");
  }

  #volume(uid: PodUid, process: SimulatedProcess): CommVolume {
    return {
      connect: () => {
        const container = this.#containers.get(uid);
        return container?.state === "listening" ? this.#connection(container, process) : undefined;
      },
      writeCredentials: () => undefined,
      credentialFiles: () => [],
      credentialsChangedAt: () => undefined,
      askToExit: () => {
        this.#exitFiles.add(uid);
        const container = this.#containers.get(uid);
        if (container?.state === "listening") this.#exit(container, 0);
      },
      errorText: () => undefined,
      clearError: () => undefined,
      [Symbol.dispose]: () => undefined,
    };
  }

  #connection(container: Container, process: SimulatedProcess): Connection {
    const { promise: closed, resolve } = Promise.withResolvers<"byPeer" | "byUs">();
    container.hangUp = () => process.deliver(() => resolve("byPeer"));
    return {
      closed,
      send: (_message, device) => {
        container.state = "serving";
        const deviceId = this.kernel.at(sourcePath(kubeletDir, container.name))?.deviceId;
        if (deviceId === undefined) throw new Error(`${container.name} got a device that is not mounted`);
        container.deviceId = deviceId;
        this.#owners.set(deviceId, container.name);
        this.kernel.server(device, "serving");
      },
      [Symbol.dispose]: () => resolve("byUs"),
    };
  }

  #exit(container: Container, exitCode: number): void {
    if (typeof container.state !== "string") return;
    const mounted = this.kernel.table.find(({ deviceId }) => deviceId === container.deviceId);
    if (mounted !== undefined) this.kernel.abortFuse(mounted.deviceId);
    container.state = { exitCode };
    container.hangUp?.();
  }

  /** mount-s3 ends when its file system is mounted nowhere any more. */
  #endUnmounted(): void {
    const mounted = new Set([...this.kernel.table.map(({ deviceId }) => deviceId), ...this.#inContainers.values()]);
    for (const container of this.#serving) {
      const { deviceId } = container;
      if (deviceId !== undefined && !mounted.has(deviceId)) this.#exit(container, 0);
    }
  }

  /** DS-14. A source with bind mounts stays: a workload without its source cannot be healed without a restart. */
  #checkUnmount(path: string): void {
    const source = path.startsWith(`${sourcesDir(kubeletDir)}/`) ? this.kernel.at(path) : undefined;
    const serving = this.#serving.some(({ deviceId }) => deviceId === source?.deviceId);
    const bound = this.kernel.table.find(
      ({ deviceId, mountPoint }) => deviceId === source?.deviceId && mountPoint !== path,
    );
    if (serving && bound !== undefined) this.#onBroken(`${path} is unmounted under the bind mount ${bound.mountPoint}`);
    const { workload } = targetAt(kubeletDir, path) ?? {};
    if (workload !== undefined && this.#inContainers.has(workload) && this.kernel.at(path) !== undefined) {
      this.#onBroken(`${path} is unmounted under its container`);
    }
  }

  #notify(uid: PodUid): void {
    for (const listener of this.#listeners.get(uid) ?? []) listener();
  }
}
