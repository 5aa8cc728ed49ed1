/** Every value does something: another value gives other objects or other notes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isCollection, isMap, isScalar, parseDocument, type YAMLMap } from "yaml";
import { chartDirectory, everything } from "./rendered-chart.ts";

interface Leaf {
  readonly path: string;
  readonly value: unknown;
}

const document = parseDocument(readFileSync(join(chartDirectory, "values.yaml"), "utf8"));
/** A ServiceMonitor serves metrics, too, so beside it this one is without effect. */
const besideNothing = "metrics.enabled";
const leaves = leavesOf(document.contents as YAMLMap, "").filter(({ path }) => path !== besideNothing);

/** With every option on, so that values which matter only beside another one do matter. */
const allOn: Readonly<Record<string, string>> = {
  "controller.replicas": "2",
  cleanupCRDOnUninstall: "true",
  "networkPolicy.enabled": "true",
  "flowControl.enabled": "true",
  "serviceMonitor.enabled": "true",
  "metrics.authorization": "true",
  "prometheusRule.enabled": "true",
  "dashboard.enabled": "true",
  "ui.enabled": "true",
  "tls.caCertConfigMap": "our-ca",
  "tls.caCertData": "pem",
  "tls.initImage.repository": "alpine",
  "mountpointPod.headroom.enabled": "true",
  "mountpointPod.headroomImage.repository": "pause",
  "mountpointPod.rollout.strategy": "rolling",
  "s3.sts.endpointUrl": "https://sts",
  "s3.sts.provisioner.enabled": "true",
  "podIdentity.enabled": "true",
};
const usual = everything(allOn);

it("CH-5 there are values to look at", () => {
  expect(leaves.length).toBeGreaterThan(60);
});

it.for(leaves)("CH-5 $path has an effect", ({ path, value }) => {
  expect(everything({ ...allOn, ...other(path, value) })).not.toBe(usual);
});

it(`CH-5 ${besideNothing} has an effect`, () => {
  expect(everything({ [besideNothing]: "true" })).not.toBe(everything());
});

function leavesOf(map: YAMLMap, prefix: string): readonly Leaf[] {
  return map.items.flatMap(({ key, value }) => {
    const path = `${prefix}${String(key)}`;
    if (isMap(value) && value.items.length > 0) return leavesOf(value, `${path}.`);
    return [{ path, value: isScalar(value) ? value.value : isCollection(value) ? value.toJSON() : value }];
  });
}

/** What else it could be, as `--set` takes it. */
function other(path: string, value: unknown): Readonly<Record<string, string>> {
  const special = specials[path];
  if (special !== undefined) return special;
  if (typeof value === "boolean") return { [path]: String(allOn[path] === undefined ? !value : value) };
  if (typeof value === "number") return { [path]: String(value + 2) };
  if (path.endsWith("pullPolicy")) return { [path]: "Always" };
  if (Array.isArray(value)) return { [`${path}[0].key`]: "x" };
  if (typeof value === "object") return { [`${path}.other`]: "x" };
  return { [path]: path.endsWith("cpu") || path.endsWith("memory") ? "77Mi" : "other" };
}

const specials: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  imagePullSecrets: { "imagePullSecrets[0]": "pull" },
  "s3.endpointUrl": { "s3.endpointUrl": "https://other" },
  "s3.uploadChecksums": { "s3.uploadChecksums": "crc64nvme" },
  "s3.formerEndpointUrls": { "s3.formerEndpointUrls[0]": "https://other" },
  "s3.sts.endpointUrl": { "s3.sts.endpointUrl": "https://other" },
  "s3.sts.caCertData": { "s3.sts.caCertData": "-----BEGIN CERTIFICATE-----" },
  "s3.sts.roleArn": { "s3.sts.roleArn": "arn:aws:iam::1234:role/other" },
  "s3.sts.provisioner.roleArn": { "s3.sts.provisioner.roleArn": "arn:aws:iam::1234:role/other" },
  "s3.stores": { "s3.stores.other.endpointUrl": "https://other" },
  "node.kubeletPath": { "node.kubeletPath": "/other" },
  "sidecars.csiProvisioner.resources": { "sidecars.csiProvisioner.resources.limits.cpu": "1" },
  "node.volumes": { "node.volumes[0].name": "other" },
  "controller.resources": { "controller.resources.limits.cpu": "1" },
  "openshift.enabled": { "openshift.enabled": "true" },
  "serviceMonitor.interval": { "serviceMonitor.interval": "1m" },
  "node.mountPidNamespace": { "node.mountPidNamespace": "host" },
  "mountpointPod.rollout.strategy": { "mountpointPod.rollout.strategy": "manual" },
  "mountpointPod.rollout.window": {
    "mountpointPod.rollout.window.start": "01:00",
    "mountpointPod.rollout.window.end": "02:00",
  },
  "tls.caCertData": { "tls.caCertData": "other" },
  "ui.hosts": { "ui.hosts[0]": "other" },
};
