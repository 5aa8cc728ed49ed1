import { expect, it } from "vitest";
import { secretAccess, storesWith } from "../../../test/support/fake-credentials.ts";
import { credentialsOf, FakeNode, podOf, workload } from "../../../test/support/fake-node.ts";
import { DriverError } from "../../core/errors.ts";
import type { VolumeId } from "../../core/names.ts";
import type { StoreName } from "../../core/stores/store.ts";
import { refreshCredentials } from "./credentials.ts";
import { legacyProfileName, staticProfile } from "./profile.ts";

const profile = legacyProfileName(workload, "photos" as VolumeId);

it.for([
  { what: "of 2.x", isLegacy: true, ours: [] },
  // Mounted by a node plugin of 2.x, during an upgrade.
  { what: "of this version", isLegacy: false, ours: ["s3-csi-config", "s3-csi-keys"] },
])("a changed key reaches a Mountpoint Pod $what that reads credential files of 2.x", ({ isLegacy, ours }) => {
  using node = new FakeNode();
  const files = staticProfile(profile, credentialsOf("old")).files;
  for (const [name, content] of Object.entries(files)) node.credentialFiles.set(name, content);

  refreshCredentials(node.credentials, podOf({ isLegacy }), secretAccess(credentialsOf("new")));

  expect(node.credentialFiles.get(`${profile}-credentials`)).toContain("new-secret");
  expect([...node.credentialFiles.values()].join("")).not.toContain("old-secret");
  expect([...node.credentialFiles.keys()]).toEqual([...Object.keys(files), ...ours]);
});

it("creates no credential file of 2.x if there is none", () => {
  using node = new FakeNode();
  refreshCredentials(node.credentials, podOf(), secretAccess(credentialsOf("new")));
  expect([...node.credentialFiles.keys()]).toEqual(["s3-csi-config", "s3-csi-keys"]);
});

const minio = { minio: { endpointUrl: "http://minio:9000" } };
const moved = { minio: { endpointUrl: "http://new:9000", formerEndpointUrls: ["http://minio:9000"] } };

it.for([
  ["same store", "minio", minio, true],
  ["store that has moved", "minio", moved, true],
  ["Secret names another store by now", "default", minio, false],
  ["name belongs to another store by now", "minio", { minio: { endpointUrl: "http://other:9000" } }, false],
  ["store is not listed any more", "minio", {}, false],
] as const)("ID-4 keys reach a mount-s3 only at the store that they are for: %s", ([, store, list, reaches]) => {
  using node = new FakeNode();
  const record = {
    access: { source: "driver", store: "minio" },
    request: { env: { AWS_ENDPOINT_URL: "http://minio:9000" } },
  };
  const credentials = { ...node.credentials, stores: storesWith(list), records: { get: () => record as never } };
  const access = { ...secretAccess(credentialsOf("new")), store: store as StoreName };
  const refresh = () => refreshCredentials(credentials, podOf(), access);
  expect(refusalOf(refresh)).toMatch(reaches ? /^$/ : /^notReady: .*[Rr]estart the Pod/);
  expect([...node.credentialFiles.values()].join("").includes("new-secret")).toBe(reaches);
});

it("ID-2 a session at a former address of the default store is not renewed silently: its keys end", () => {
  using node = new FakeNode();
  const record = {
    access: { source: "pod", store: "default" },
    request: { env: { AWS_ENDPOINT_URL: "http://former" } },
  };
  const credentials = { ...node.credentials, records: { get: () => record as never } };
  const access = { source: "pod", store: "default", account: { namespace: "a", name: "b" }, role: undefined } as never;
  expect(refusalOf(() => refreshCredentials(credentials, podOf(), access))).toContain("s3.formerEndpointUrls");
  expect(refusalOf(() => refreshCredentials(credentials, podOf(), secretAccess(credentialsOf("new"))))).toBe("");
  expect([...node.credentialFiles.keys()]).toEqual([]);
});

function refusalOf(attempt: () => void): string {
  try {
    attempt();
    return "";
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    return `${error.kind}: ${error.hint}`;
  }
}
