/** The release of the driver that the lab has, for tests that upgrade it, roll it back or take it away. */
import { chart, driverNamespace, helm, installDriver, release } from "../../lab/install-driver.ts";
import type { Progress } from "../../lab/progress.ts";
import type { Cluster } from "./cluster.ts";

const quiet: Progress = { task: (_title, work) => work({ at: () => undefined }), say: () => undefined };
const patience = () => AbortSignal.timeout(300_000);
const inRelease = [release, "--namespace", driverNamespace] as const;

export class HelmRelease {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  run(...args: readonly string[]): Promise<string> {
    return helm(this.#cluster.lab, args, { signal: patience() });
  }

  upgrade(...flags: readonly string[]): Promise<string> {
    return this.upgradeTo(chart, "--reuse-values", ...flags);
  }

  upgradeTo(other: string, ...flags: readonly string[]): Promise<string> {
    return this.run("upgrade", ...inRelease, other, ...flags);
  }

  rollback(revision: string): Promise<string> {
    return this.run("rollback", release, revision, "--namespace", driverNamespace, "--wait");
  }

  uninstall(): Promise<string> {
    return this.run("uninstall", ...inRelease);
  }

  hooks(): Promise<string> {
    return this.run("get", "hooks", ...inRelease);
  }

  async revision(): Promise<string> {
    const history = JSON.parse(await this.run("history", ...inRelease, "-o", "json")) as { revision: number }[];
    return String(history.at(-1)?.revision);
  }

  /** As every other test expects it; ready when this returns. */
  async asUsual(): Promise<void> {
    await installDriver(patience(), this.#cluster.lab, quiet);
  }
}
