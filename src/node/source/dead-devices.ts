import type { PodName } from "../../core/names.ts";
import { openPath } from "../../linux/descriptor.ts";
import type { DeviceId } from "../../linux/device-id.ts";
import type { Call } from "../../runtime/call.ts";
import { orAborted } from "../../runtime/or-aborted.ts";

/** A FUSE device whose server is gone and that is still mounted in some namespace. */
export interface DeadDevice {
  readonly deviceId: DeviceId;
  /** The Mountpoint Pod that served the device; undefined if its source was unmounted already. */
  readonly mountpointPod: PodName | undefined;
  readonly since: Date;
}

interface Known {
  readonly dead: DeadDevice;
  /** Keeps the file system alive: the kernel reuses the minor number of a file system that has ended. */
  readonly pin: Disposable;
  attempt: PromiseWithResolvers<void>;
}

/** Devices that are being healed: a device outlives the mount at its source. */
export class DeadDevices {
  readonly #known = new Map<DeviceId, Known>();
  readonly #pin: (mountPoint: string) => Disposable;
  #onNotice: ((dead: DeadDevice) => void) | undefined;
  #wake = Promise.withResolvers<void>();
  readonly #ready = Promise.withResolvers<void>();

  /**
   * Resolves when healing has resumed the pending heals of an earlier node plugin. A device that is noticed before that would be
   * healed without its pending targets.
   */
  readonly ready = this.#ready.promise;

  constructor(pin: (mountPoint: string) => Disposable = (mountPoint) => openPath(mountPoint)) {
    this.#pin = pin;
  }

  /** Keeps the file system at this mount alive until the result is disposed of. */
  pin(mountPoint: string): Disposable {
    return this.#pin(mountPoint);
  }

  markReady(): void {
    this.#ready.resolve();
  }

  /** Starts healing a device. Assumes that a probe found its server dead. */
  notice(
    mount: { readonly deviceId: DeviceId; readonly mountPoint: string },
    mountpointPod: PodName | undefined,
  ): void {
    if (this.#known.has(mount.deviceId)) return;
    this.resume({ deviceId: mount.deviceId, mountpointPod, since: new Date() }, this.#pin(mount.mountPoint));
  }

  /** Takes ownership of the pin. */
  resume(dead: DeadDevice, pin: Disposable): void {
    if (this.#known.has(dead.deviceId)) return pin[Symbol.dispose]();
    this.#known.set(dead.deviceId, { dead, pin, attempt: Promise.withResolvers() });
    this.#onNotice?.(dead);
  }

  /** How many devices are being healed. */
  get size(): number {
    return this.#known.size;
  }

  isKnown(deviceId: DeviceId): boolean {
    return this.#known.has(deviceId);
  }

  /** Whether workloads wait until a mount from this Mountpoint Pod is healed. */
  isHealing(mountpointPod: PodName): boolean {
    return [...this.#known.values()].some(({ dead }) => dead.mountpointPod === mountpointPod);
  }

  /** Calls the listener for every dead device, those that are known already included. */
  onNotice(listener: (dead: DeadDevice) => void): Disposable {
    this.#onNotice = listener;
    for (const { dead } of this.#known.values()) listener(dead);
    return {
      [Symbol.dispose]: () => {
        this.#onNotice = undefined;
      },
    };
  }

  /** Wakes every heal that waits: an attachment or a Mountpoint Pod has changed. */
  wake(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  /** Resolves at the next `wake`. */
  get nextWake(): Promise<void> {
    return this.#wake.promise;
  }

  /** Resolves when the next attempt to heal the device has ended, with or without success. At once for a device that is not dead. */
  async waitForAttempt(call: Call, deviceId: DeviceId): Promise<void> {
    const known = this.#known.get(deviceId);
    if (known === undefined) return;
    this.wake();
    await orAborted(call, known.attempt.promise);
  }

  attemptEnded(deviceId: DeviceId): void {
    const known = this.#known.get(deviceId);
    known?.attempt.resolve();
    if (known !== undefined) known.attempt = Promise.withResolvers();
  }

  /** The device is healed, or no workload uses it any more. */
  remove(deviceId: DeviceId): void {
    const known = this.#known.get(deviceId);
    this.#known.delete(deviceId);
    known?.attempt.resolve();
    known?.pin[Symbol.dispose]();
  }
}
