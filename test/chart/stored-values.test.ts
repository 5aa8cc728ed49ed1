/** `helm upgrade --reuse-values`: Helm takes the values of the old release in place of the new chart's defaults. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import {
  chartDirectory,
  notes,
  ownContainersOf,
  render,
  storedReleases,
  storedValues,
  version,
} from "./rendered-chart.ts";

const scratch = mkdtempSync(join(tmpdir(), "chart-"));
afterAll(() => rmSync(scratch, { recursive: true }));

/** Only Bottlerocket knows it; where a release of 2.x ran with it, so does this one. */
const seLinuxOf2x = Object.fromEntries(
  Object.entries({ user: "system_u", type: "super_t", role: "system_r", level: "s0" }).map(([key, value]) => [
    `node.seLinuxOptions.${key}`,
    value,
  ]),
);

/** The new chart with the defaults of an old one. */
function chartWithValuesOf(release: string): string {
  const chart = join(scratch, release);
  cpSync(chartDirectory, chart, { recursive: true });
  cpSync(storedValues(release), join(chart, "values.yaml"));
  return chart;
}

describe.for(storedReleases)("values stored by %s", (release) => {
  const chart = chartWithValuesOf(release);

  it("CH-2 make the objects that a new installation makes, with the new image", () => {
    expect(render({}, chart)).toEqual(render(seLinuxOf2x));
    for (const { image } of ownContainersOf(render({}, chart))) expect(image).toContain(`:v${version}`);
  });

  it("CH-2 leave every option of the new chart open", () => {
    const options = {
      "controller.replicas": "2",
      cleanupCRDOnUninstall: "true",
      "networkPolicy.enabled": "true",
      "serviceMonitor.enabled": "true",
      "openshift.enabled": "true",
      releaseScopedNames: "true",
      "mountpointPod.createNamespace": "false",
      "mountpointPod.labels.team": "storage",
      "tls.caCertConfigMap": "our-ca",
      "tls.caCertData": "pem",
    };
    const ownImage = { "tls.initImage.repository": "" };
    expect(render({ ...options, ...ownImage }, chart)).toEqual(render({ ...options, ...ownImage }));
  });

  it("CH-2 are reported: the image that runs instead, and what has no effect", () => {
    const text = notes({}, chart);
    expect(text).toContain(`image.tag is ${release}, a release that this chart cannot run`);
    expect(text).toContain(`:v${version} is used instead`);
    const ignored = /no effect in this version: (.*)/.exec(text)?.[1];
    expect(ignored).toContain("sidecars");
    const of1x = ["experimental", "node.mountpointInstallPath", "controller.enable"];
    for (const name of of1x) expect(ignored?.includes(name)).toBe(release === "1.2.0");
  });
});

it("a new installation with nothing set reports nothing", () => {
  expect(notes()).not.toContain("NOTE:");
});

it.for([
  [{ "image.tag": "v2.2.0" }, "image.tag is v2.2.0"],
  [{ "sidecars.livenessProbe.resources.limits.memory": "1Gi" }, "sidecars"],
  [{ "initContainer.installMountpoint.resources.limits.memory": "1Gi" }, "initContainer"],
  [{ fullnameOverride: "other" }, "fullnameOverride"],
  [{ "node.podInfoOnMountCompat.enable": "true" }, "node.podInfoOnMountCompat"],
  [{ "node.mountpointInstallPath": "/opt" }, "node.mountpointInstallPath"],
  [{ "controller.extraVolumeTags.a": "b" }, "controller.extraVolumeTags"],
  [{ "controller.enable": "true" }, "controller.enable"],
  [{ "experimental.podMounter": "true" }, "experimental"],
] as const)("CH-5 %j is accepted and reported as without effect", ([values, said]) => {
  expect(render(values)).toEqual(render());
  const [, reported = ""] = notes(values).split("NOTE:");
  expect(reported).toContain(said);
});
