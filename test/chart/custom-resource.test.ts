import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { attachmentApi } from "../../src/core/names.ts";
import { type Manifest, repository } from "./rendered-chart.ts";

const read = (path: string) => readFileSync(join(repository, path), "utf8");

describe("the custom resource definition", () => {
  const path = "charts/scality-mountpoint-s3-csi-driver/crds/mountpoints3podattachments.yaml";
  const { spec } = parse(read(path)) as Manifest;
  const [version] = spec.versions;
  const spec2x = ["nodeName", "persistentVolumeName", "volumeID", "mountOptions", "workloadFSGroup"];

  it("is what kustomize installs from the root of the repository", () => {
    expect((parse(read("kustomization.yaml")) as { resources: string[] }).resources).toEqual([path]);
  });

  it("has the names of 2.x", () => {
    const { group, kind, plural } = attachmentApi;
    expect(spec).toMatchObject({ group, scope: "Cluster" });
    expect(spec.names).toEqual({
      kind,
      listKind: `${kind}List`,
      plural,
      singular: "mountpoints3podattachment",
      shortNames: ["s3pa"],
    });
  });

  it("has one version, with a status and the columns that users know", () => {
    expect(spec.versions).toHaveLength(1);
    expect(version).toMatchObject({ name: attachmentApi.version, served: true, storage: true });
    expect(version.subresources).toEqual({ status: {} });
    const columns = version.additionalPrinterColumns as { name: string; priority?: number }[];
    const shown = Map.groupBy(columns, ({ priority = 0 }) => priority);
    const names = (priority: number) => shown.get(priority)?.map(({ name }) => name);
    expect(names(0)).toEqual(["Node", "PV Name", "Mount Options", "Age"]);
    expect(names(1)).toEqual(["Assigned", "Scheduled", "Mounted", "Healthy"]);
    expect(shown.size).toBe(2);
  });

  it("requires only what 2.x writes, and can be selected by all that the API allows", () => {
    expect(version.schema.openAPIV3Schema.properties.spec.required).toEqual([...spec2x, "mountpointS3PodAttachments"]);
    const optional = ["authenticationSource", "workloadNamespace", "workloadServiceAccountName"];
    expect(version.selectableFields).toEqual([...spec2x, ...optional].map((field) => ({ jsonPath: `.spec.${field}` })));
  });
});
