/** The chart as Helm renders it. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";

export const repository = join(import.meta.dirname, "../..");
export const chartDirectory = join(repository, "charts/scality-mountpoint-s3-csi-driver");

/** The one version that everything carries. */
export const { version } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as { version: string };

/** The namespace of the release in every rendering. */
export const releaseNamespace = "storage";

/** Values, and what the chart makes of them. */
export const goldenDirectory = join(import.meta.dirname, "golden");
export const goldenSets = ["defaults", "everything", "lean"] as const;

/** Values as they came with older charts. */
export const storedReleases = ["1.2.0", "2.0.0", "2.1.1", "2.2.0"] as const;
export const storedValues = (release: string) => join(import.meta.dirname, "stored-values", `${release}.yaml`);

/** `./dev test cluster` names the one that the lab brings. */
const helm = process.env["HELM"] ?? "helm";

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  // oxlint-disable-next-line typescript/no-explicit-any -- any field of any kind
  readonly [field: string]: any;
}

/** Objects of the chart, custom resource definition included. `values` are what `--set` takes, `flags` are of helm. */
export function render(
  values: Readonly<Record<string, string>> = {},
  chart = chartDirectory,
  flags: readonly string[] = [],
): readonly Manifest[] {
  const set = Object.entries(values).flatMap(([name, value]) => ["--set", `${name}=${value}`]);
  return manifestsIn(template(["--include-crds", ...set, ...flags], chart));
}

/** The text that Helm gives. */
export function template(flags: readonly string[], chart = chartDirectory): string {
  return run(["template", "release", chart, "--namespace", releaseNamespace, ...flags]);
}

/** What `helm lint` says, whatever it finds. */
export function lint(flags: readonly string[]): string {
  const { stdout, stderr } = spawnSync(helm, ["lint", "--strict", chartDirectory, ...flags], { encoding: "utf8" });
  return stdout + stderr;
}

/** What Helm prints after an installation. */
export function notes(values: Readonly<Record<string, string>> = {}, chart = chartDirectory): string {
  const text = everything(values, chart);
  return text.slice(text.indexOf("\nNOTES:\n"));
}

/** Objects, hooks and notes, as Helm prints them for somebody who only wants to see. */
export function everything(values: Readonly<Record<string, string>> = {}, chart = chartDirectory): string {
  const set = Object.entries(values).flatMap(([name, value]) => ["--set", `${name}=${value}`]);
  const namespace = ["--namespace", releaseNamespace];
  const text = run(["install", "release", chart, "--dry-run=client", ...namespace, ...set]);
  return text.replace(/^LAST DEPLOYED: .*$/m, "");
}

export function manifestsIn(text: string): readonly Manifest[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}

export function only(manifests: readonly Manifest[], kind: string, name?: string): Manifest {
  const found = manifests.filter((one) => one.kind === kind && (name === undefined || one.metadata.name === name));
  const [manifest] = found;
  if (manifest === undefined || found.length > 1) throw new Error(`${found.length} of ${kind} ${name ?? ""}`);
  return manifest;
}

/** When Helm makes the object, for a moment; undefined: it belongs to the release. */
export function hookOf({ metadata }: Manifest): string | undefined {
  return metadata.annotations?.["helm.sh/hook"];
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: object;
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly mountPropagation?: string;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly EnvVar[];
  readonly envFrom?: unknown;
  readonly ports: readonly [{ readonly name: string; readonly containerPort: number }];
  readonly livenessProbe?: object;
  readonly readinessProbe?: object;
  readonly resources?: object;
}

/** Every container of every Pod template. */
export function containersOf(chart: readonly Manifest[]): readonly Container[] {
  return chart
    .filter(({ kind }) => kind === "DaemonSet" || kind === "Deployment")
    .flatMap((one) => one["spec"].template.spec.containers as Container[]);
}

/** Those that run the driver's image: all but the sidecar. */
export function ownContainersOf(chart: readonly Manifest[]): readonly Container[] {
  return containersOf(chart).filter(({ name }) => name !== "csi-provisioner");
}

export function containerOf(chart: readonly Manifest[], name: string): Container {
  const found = containersOf(chart).find((container) => container.name === name);
  if (found === undefined) throw new Error(`no container ${name}`);
  return found;
}

function run(args: readonly string[]): string {
  return execFileSync(helm, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}
