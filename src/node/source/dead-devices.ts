import type { PodName } from "../../core/names.ts";
import { orAborted } from "../../kube/or-aborted.ts";
import { openPath } from "../../linux/descriptor.ts";
import type { Call } from "../../runtime/call.ts";

/** A FUSE device whose server is gone, wherever it is still mounted. */
export interface DeadDevice {
  /** Minor number of its device: the same in every namespace. */
  readonly minor: number;
  /** Whose mount-s3 it was, if its source was still there. */
  readonly mountpointPod: PodName | undefined;
  readonly since: Date;
  /** Targets for which an earlier node plugin could not do everything. */
  readonly pendingTargets: readonly string[];
}

interface Known {
  readonly dead: DeadDevice;
  /** Keeps the file system, and with it its number, from being given to another one. */
  readonly pin: Disposable;
  attempt: PromiseWithResolvers<void>;
}

/** Devices that are being healed. A device outlives its source, so they are found by their number. */
export class DeadDevices {
  readonly #known = new Map<number, Known>();
  readonly #pin: (mountPoint: string) => Disposable;
  #onNotice: ((dead: DeadDevice) => void) | undefined;
  #news = Promise.withResolvers<void>();
  readonly #ready = Promise.withResolvers<void>();

  /**
   * Resolves when healing has taken up what an earlier node plugin owed. A device that is noticed before would be healed without
   * those who wait for it.
   */
  readonly ready = this.#ready.promise;

  constructor(pin: (mountPoint: string) => Disposable = (mountPoint) => openPath(mountPoint)) {
    this.#pin = pin;
  }

  resumedPending(): void {
    this.#ready.resolve();
  }

  /** Its server does not live: somebody asked it. */
  notice(mount: { readonly minor: number; readonly mountPoint: string }, mountpointPod: PodName | undefined): void {
    if (this.#known.has(mount.minor)) return;
    this.resume(
      { minor: mount.minor, mountpointPod, since: new Date(), pendingTargets: [] },
      this.#pin(mount.mountPoint),
    );
  }

  /** Takes over the pin. */
  resume(dead: DeadDevice, pin: Disposable): void {
    if (this.#known.has(dead.minor)) return pin[Symbol.dispose]();
    this.#known.set(dead.minor, { dead, pin, attempt: Promise.withResolvers() });
    this.#onNotice?.(dead);
  }

  isKnown(minor: number): boolean {
    return this.#known.has(minor);
  }

  /** Calls for those that are known already, too. */
  onNotice(listener: (dead: DeadDevice) => void): Disposable {
    this.#onNotice = listener;
    for (const { dead } of this.#known.values()) listener(dead);
    return {
      [Symbol.dispose]: () => {
        this.#onNotice = undefined;
      },
    };
  }

  /** Something that a dead mount waits for may have come. */
  wake(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }

  /** The next wake. */
  get news(): Promise<void> {
    return this.#news.promise;
  }

  /** Waits until healing was tried once more, whatever came of it. At once for a mount that is not dead. */
  async waitForAttempt(call: Call, minor: number): Promise<void> {
    const known = this.#known.get(minor);
    if (known === undefined) return;
    this.wake();
    await orAborted(call, known.attempt.promise);
  }

  attemptEnded(minor: number): void {
    const known = this.#known.get(minor);
    known?.attempt.resolve();
    if (known !== undefined) known.attempt = Promise.withResolvers();
  }

  /** Healed, or nobody needs it any more. */
  remove(minor: number): void {
    const known = this.#known.get(minor);
    this.#known.delete(minor);
    known?.attempt.resolve();
    known?.pin[Symbol.dispose]();
  }
}
