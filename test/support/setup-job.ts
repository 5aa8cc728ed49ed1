import { execFile } from "node:child_process";
import { join } from "node:path";
import { releaseNamespace, repository } from "../chart/rendered-chart.ts";
import type { ChartAccess } from "./chart-access.ts";

/** The program of the chart's Job that releases the Secrets of a ConfigMap, with the rights of the Job; gives its exit code. */
export async function releaseSecretsJob(access: ChartAccess, configMap: string): Promise<number> {
  const args = ["release-secrets", `--protected-secrets=${releaseNamespace}/${configMap}`];
  const kubeconfig = await access.kubeconfigOf("releaseSecrets");
  const argv = [join(repository, "src/bin/setup.ts"), ...args, `--kubeconfig=${kubeconfig}`];
  return await new Promise((done) => {
    execFile(process.execPath, argv, { encoding: "utf8" }, (error) => done(error === null ? 0 : Number(error.code)));
  });
}
