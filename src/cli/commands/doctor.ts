/** `kubectl s3 doctor`: checks the whole installation. */
import { diagnose } from "../doctor/diagnose.ts";
import type { Finding } from "../doctor/finding.ts";
import { type Installation, present, type TriedStores } from "../doctor/installation.ts";
import { readInstallation } from "../doctor/read-installation.ts";
import { tryClass } from "../doctor/try-class.ts";
import { tryStores } from "../doctor/try-stores.ts";
import { formatted } from "../output/format.ts";
import type { Style } from "../output/style.ts";
import { printable } from "../output/table.ts";
import type { Session } from "../program.ts";

/** The exit code: 0 nothing, 1 problems, 2 warnings only. */
export async function doctorCommand(
  session: Session,
  options: { readonly class?: string; readonly probe: boolean },
): Promise<number> {
  const { signal, api, options: scope, terminal } = session;
  const request = { signal, api, scope };
  const read = await terminal.progress("reading the cluster", readInstallation(request));
  const tried = options.probe
    ? await terminal.progress("trying the S3 endpoints from inside the cluster", triedStores(session, read))
    : undefined;
  const installation: Installation = { ...read, tried };
  const namespace = scope.namespace ?? "default";
  const ofClass =
    options.class === undefined
      ? []
      : await terminal.progress("trying the StorageClass", tryClass(signal, api, { name: options.class, namespace }));
  const findings = [...diagnose(installation), ...ofClass];
  const left = leftOut(installation);
  terminal.print(
    formatted(scope.output, { findings, notChecked: left }, () => doctorText(findings, left, terminal.style)),
  );
  return exitCode(findings);
}

async function triedStores(session: Session, { deployment, cluster }: Installation): Promise<TriedStores> {
  const { signal, api, options: scope } = session;
  const found = present(deployment);
  if (found === undefined) return { state: "not tried", because: "the controller is not installed, or not readable" };
  return await tryStores({ signal, api, scope }, found, cluster.namespaces.driver);
}

function leftOut({ unreadable, tried }: Installation): readonly string[] {
  return [...unreadable, ...storesLeftOut(tried)];
}

function storesLeftOut(tried: TriedStores | undefined): readonly string[] {
  if (tried === undefined) return [];
  if (tried.state === "not tried") return [`the S3 endpoints: ${tried.because}`];
  return tried.stores.flatMap(({ name, result, problem }) =>
    result === "not tried" ? [`the S3 endpoint of store ${name}: ${problem}`] : [],
  );
}

function exitCode(findings: readonly Finding[]): number {
  if (findings.some(({ severity }) => severity === "problem")) return 1;
  return findings.length > 0 ? 2 : 0;
}

export function doctorText(findings: readonly Finding[], left: readonly string[], style: Style): string {
  const texts = findings.map(({ id, severity, summary, evidence, fix }) =>
    [
      `${style.health(severity === "problem" ? "problem" : "waiting", severity)} ${style.bold(printable(summary))} ${style.dim(`(${id})`)}\n`,
      `  seen: ${printable(evidence)}\n`,
      `  fix:  ${printable(fix)}\n`,
    ].join(""),
  );
  const problems = findings.filter(({ severity }) => severity === "problem").length;
  const end =
    findings.length === 0
      ? style.health("ok", "No problems found.")
      : `${problems} problems, ${findings.length - problems} warnings.`;
  return [...texts, ...left.map((each) => `not checked: ${printable(each)}\n`), `${end}\n`].join("");
}
