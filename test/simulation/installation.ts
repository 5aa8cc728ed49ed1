/** The release of the driver: helm creates its objects, and replaces the Pods of its replicas. */

import { kinds } from "../../src/kube/kinds.ts";
import { jsonLogger } from "../../src/runtime/log.ts";
import { removeMounts } from "../../src/setup/remove-mounts.ts";
import type { ApiServer } from "./api-server.ts";
import { BrokenRule } from "./broken-rule.ts";
import type { Chance } from "./chance.ts";
import { Connection } from "./connection.ts";
import type { SimulatedNode } from "./node.ts";
import { SimulatedProcess } from "./process.ts";
import { mountpointNamespace, type Release, warmOwner } from "./release.ts";
import type { Replica } from "./replica.ts";
import type { VirtualTime } from "./virtual-time.ts";
import { Weather } from "./weather.ts";

export interface InstallationOptions {
  readonly server: ApiServer;
  readonly time: VirtualTime;
  readonly chance: Chance;
  readonly replicas: readonly Replica[];
  readonly nodes: readonly SimulatedNode[];
  readonly release: Release;
  readonly story: (line: string) => void;
}

const ownerRef = { name: warmOwner, namespace: mountpointNamespace };

export class Installation {
  readonly #options: InstallationOptions;
  #release: Release;

  constructor(options: InstallationOptions) {
    this.#options = options;
    this.#release = options.release;
  }

  /** What helm has installed last: a replica may still be of an earlier release. */
  get release(): Release {
    return this.#release;
  }

  /** One replica after the other, as the Deployment replaces its Pods. */
  upgrade(release: Release): void {
    const { time, chance, replicas, story } = this.#options;
    this.#release = release;
    story(`helm installs ${JSON.stringify(release)}`);
    this.putWarmOwner();
    for (const [index, replica] of replicas.entries()) {
      const afterMs = index * chance.between("helm", 1000, 20_000);
      time.after(afterMs, () => {
        if (this.#release === release) replica.upgrade(release);
      });
    }
  }

  /** An image that can be pulled. */
  mend(): void {
    if (this.#release.driver === "broken") this.upgrade({ ...this.#release, driver: "otherVersion" });
    else this.putWarmOwner();
  }

  /** The chart has it only where Mountpoint Pods are to wait. */
  putWarmOwner(): void {
    const { server } = this.#options;
    const isThere = server.get(kinds.configMaps, ownerRef) !== undefined;
    if (this.#release.warmPerNode === 0) this.removeWarmOwner();
    else if (!isThere) server.create(kinds.configMaps, { metadata: ownerRef });
  }

  removeWarmOwner(): void {
    this.#options.server.remove(kinds.configMaps, ownerRef);
  }

  /** `helm rollback` to a version without this reconciler: helm ends its Pods and removes its objects at the same time. */
  rollBack(): void {
    for (const replica of this.#options.replicas) replica.uninstall();
    this.removeWarmOwner();
  }

  /** `helm uninstall`: its hook works while everything runs, and the objects go after that. */
  async uninstall(): Promise<void> {
    const { server, time, chance } = this.#options;
    const random = () => chance.next("chance of the hook");
    const process = new SimulatedProcess("the hook of the uninstallation", time, { skewMs: 0, rate: 1 }, random);
    const weather = new Weather(chance, process.name);
    const api = { server, time, process, weather, hasWatchList: true, mayUseLeases: false };
    const { client } = new Connection({ ...api, leader: () => undefined, onRequest: () => undefined });
    const log = jsonLogger(() => undefined, 2);
    const call = { signal: new AbortController().signal, log };
    const removal = { mountpointNamespace, warmOwner, limitMs: hookLimitMs, everyMs: 2000 };
    let outcome = "has not ended";
    const hook = process.run(() => removeMounts(call, client, removal));
    hook.then(
      () => void (outcome = ""),
      (error: unknown) => void (outcome = `has failed: ${String(error)}`),
    );
    await time.runUntil(time.nowMs + hookLimitMs);
    if (outcome !== "") throw new BrokenRule(`the hook of the uninstallation ${outcome}`);
    this.rollBack();
  }
}

const hookLimitMs = 300_000;
