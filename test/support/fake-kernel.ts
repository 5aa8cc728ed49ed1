/** A kernel with a mount table, directories and FUSE servers, and its rules: ENOENT, EBUSY, EINVAL, ENOTCONN. */

import { openSync } from "node:fs";
import { dirname } from "node:path/posix";
import { mountDevice } from "../../src/core/names.ts";
import type { PidNamespace } from "../../src/core/volume/pid-namespace.ts";
import { Descriptor } from "../../src/linux/descriptor.ts";
import { type DeviceId, fuseDevice } from "../../src/linux/device-id.ts";
import type { Health } from "../../src/linux/fuse/probe.ts";
import { type Mount, mountAt } from "../../src/linux/mounts/mountinfo.ts";
import type { Kernel } from "../../src/node/mounts/kernel.ts";
import type { Call } from "../../src/runtime/call.ts";

type Server = "starting" | "serving" | "dead" | "hung";

export class FakeKernel implements Kernel {
  table: readonly Mount[] = [];
  /** The file system of plain directories. */
  disk = { deviceId: "254:0" as DeviceId, fsType: "ext4", device: "/dev/vda" };
  /** The pid namespace of the last mount(2). */
  lastPids: PidNamespace | undefined;
  readonly directories = new Set<string>(["/"]);
  /** Paths of regular files: what makes a directory not empty. */
  readonly files = new Set<string>();
  /** The next call of this name fails with this errno, or runs this function first. */
  readonly faults = new Map<keyof Kernel, string | (() => void)>();
  readonly #servers = new Map<DeviceId, Server>();
  readonly #devices = new Map<Descriptor, DeviceId>();
  readonly #waiting = new Set<() => void>();
  readonly #listeners = new Set<() => void>();
  #nextId = 100;
  #nextMinor = 45;

  mounts(): readonly Mount[] {
    this.#fault("mounts");
    return this.table;
  }

  /** Whether mounts propagate to the node; undefined: the node's mounts are not visible. */
  propagates: boolean | undefined = true;

  isOnNode(path: string, deviceId: DeviceId): boolean | undefined {
    return this.propagates && this.at(path)?.deviceId === deviceId;
  }

  /** Whether the roots of mounts were deleted. */
  vanished = false;

  async hasVanished(): Promise<boolean> {
    return this.vanished;
  }

  /** Pods with processes; undefined: processes are not visible. */
  running: ReadonlySet<string> | undefined;

  podsWithProcesses(): ReadonlySet<string> | undefined {
    return this.running;
  }

  /** The mount at a path. */
  at(path: string): Mount | undefined {
    return mountAt(this.table, path);
  }

  get openDevices(): number {
    return [...this.#devices.keys()].filter(isOpen).length;
  }

  /** Changes the state of the server of a mount, which is given by its device or its path. */
  server(of: Descriptor | string, state: Server): void {
    const deviceId = typeof of === "string" ? this.at(of)?.deviceId : this.#devices.get(of);
    this.#servers.set(deviceId ?? fuseDevice(-1), state);
    for (const look of this.#waiting) look();
  }

  async probe(call: Call, mountPoint: string, limitMs: number): Promise<Health> {
    call.signal.throwIfAborted();
    const deviceId = this.at(mountPoint)?.deviceId;
    if (deviceId === undefined) return "absent";
    const { promise, resolve, reject } = Promise.withResolvers<Health>();
    const look = () => {
      const state = this.#servers.get(deviceId);
      if (state === "serving" || state === "dead") resolve(state);
    };
    const timer = setTimeout(() => resolve("hung"), limitMs);
    const stop = () => reject(call.signal.reason);
    call.signal.addEventListener("abort", stop);
    this.#waiting.add(look);
    look();
    return await promise.finally(() => {
      clearTimeout(timer);
      call.signal.removeEventListener("abort", stop);
      this.#waiting.delete(look);
    });
  }

  openFuse(): Descriptor {
    this.#fault("openFuse");
    const device = new Descriptor(openSync("/dev/null", "r+"));
    this.#devices.set(device, fuseDevice(-1));
    return device;
  }

  mountFuse(device: Descriptor, source: string, pids: PidNamespace = "private"): void {
    this.lastPids = pids;
    this.#fault("mountFuse");
    const deviceId = fuseDevice(this.#nextMinor++);
    this.#devices.set(device, deviceId);
    this.#servers.set(deviceId, "starting");
    this.#mount(source, { deviceId, fsType: "fuse", device: mountDevice });
  }

  bind(source: string, target: string): void {
    this.#fault("bind");
    if (!this.directories.has(source)) throw errno("ENOENT");
    this.#mount(target, this.at(source) ?? this.disk);
  }

  onMountChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  bindReadOnly(source: string, target: string): void {
    this.#fault("bindReadOnly");
    this.bind(source, target);
    const top = this.at(target);
    this.table = this.table.map((mount) => (mount.id === top?.id ? { ...mount, readOnly: true } : mount));
  }

  unmount(path: string): boolean {
    this.#fault("unmount");
    const top = this.at(path);
    this.table = this.table.filter((mount) => mount !== top);
    this.#changed();
    return top !== undefined;
  }

  /** CPU time of every mount-s3; undefined: processes are not visible. */
  cpuNs: number | undefined = 0;

  cpuTimeNs(): number | undefined {
    return this.cpuNs;
  }

  abortFuse(deviceId: DeviceId): void {
    this.#servers.set(deviceId, "dead");
    for (const look of this.#waiting) look();
  }

  makeDirectory(path: string): void {
    this.#fault("makeDirectory");
    for (let at = path; at !== "/"; at = dirname(at)) this.directories.add(at);
  }

  removeDirectory(path: string): boolean {
    this.#fault("removeDirectory");
    if (this.at(path) !== undefined) throw errno("EBUSY");
    const inside = [...this.directories, ...this.files].some((entry) => dirname(entry) === path && entry !== "/");
    if (inside) throw errno("ENOTEMPTY");
    return this.directories.delete(path);
  }

  namesIn(directory: string): readonly string[] {
    const prefix = `${directory}/`;
    const names = [...this.directories].filter((path) => dirname(path) === directory);
    return names.map((path) => path.slice(prefix.length));
  }

  #mount(mountPoint: string, of: Pick<Mount, "deviceId" | "fsType" | "device">): void {
    if (!this.directories.has(mountPoint)) throw errno("ENOENT");
    const { deviceId, fsType, device } = of;
    const parentId = this.at(mountPoint)?.id ?? 1;
    const id = this.#nextId++;
    this.table = [...this.table, { id, parentId, deviceId, root: "/", mountPoint, readOnly: false, fsType, device }];
    this.#changed();
  }

  /** Notifies listeners after the call, like the kernel. */
  #changed(): void {
    for (const listener of this.#listeners) queueMicrotask(listener);
  }

  #fault(name: keyof Kernel): void {
    const fault = this.faults.get(name);
    this.faults.delete(name);
    if (typeof fault === "string") throw errno(fault);
    fault?.();
  }
}

export function errno(code: string): Error {
  return Object.assign(new Error(code), { code });
}

function isOpen(device: Descriptor): boolean {
  try {
    return device.fd >= 0;
  } catch {
    return false; // a closed Descriptor throws
  }
}
