/** `kubectl s3 doctor` in the process of the test, with the rights of the administrator. */
import { logIn } from "../../src/cli/api/login.ts";
import { diagnose } from "../../src/cli/doctor/diagnose.ts";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { type Installation, present } from "../../src/cli/doctor/installation.ts";
import { readInstallation } from "../../src/cli/doctor/read-installation.ts";
import { tryClass } from "../../src/cli/doctor/try-class.ts";
import { tryStores } from "../../src/cli/doctor/try-stores.ts";
import type { Cluster } from "./cluster.ts";

const signal = () => AbortSignal.timeout(240_000);

export class Doctor {
  readonly #kubeconfig: string;

  constructor({ lab }: Cluster) {
    this.#kubeconfig = lab.layout.kubeconfig;
  }

  async read(): Promise<Installation> {
    return await readInstallation({ signal: signal(), api: logIn({ kubeconfig: this.#kubeconfig }), scope: {} });
  }

  /** `laterMs`: as if the user had waited for so long. */
  async findings(laterMs = 0): Promise<readonly Finding[]> {
    const installation = await this.read();
    return diagnose({ ...installation, now: new Date(installation.now.getTime() + laterMs) });
  }

  async ids(laterMs = 0): Promise<readonly string[]> {
    return (await this.findings(laterMs)).map(({ id }) => id);
  }

  async tryClass(name: string, namespace: string): Promise<readonly Finding[]> {
    return await tryClass(signal(), logIn({ kubeconfig: this.#kubeconfig }), { name, namespace });
  }

  /** The finding about the store; `endpoint` takes the place of the driver's. */
  async storeFinding(endpoint?: string): Promise<Finding | undefined> {
    const api = logIn({ kubeconfig: this.#kubeconfig });
    const installation = await this.read();
    const deployment = present(installation.deployment);
    if (deployment === undefined) throw new Error("there is no controller");
    const text = JSON.stringify(deployment);
    const asked =
      endpoint === undefined
        ? text
        : text.replaceAll(/"AWS_ENDPOINT_URL","value":"[^"]*"/g, `"AWS_ENDPOINT_URL","value":"${endpoint}"`);
    const request = { signal: signal(), api, scope: {} };
    const tried = await tryStores(
      request,
      JSON.parse(asked) as typeof deployment,
      installation.cluster.namespaces.driver,
    );
    if (tried.state === "not tried") throw new Error(tried.because);
    return diagnose({ ...installation, tried }).find(({ id }) => id === "store-unusable");
  }
}
