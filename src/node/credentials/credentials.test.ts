import { expect, it } from "vitest";
import { credentialsOf, FakeNode, podOf, workload } from "../../../test/support/fake-node.ts";
import type { VolumeId } from "../../core/names.ts";
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

  refreshCredentials(node.credentials, podOf({ isLegacy }), credentialsOf("new"));

  expect(node.credentialFiles.get(`${profile}-credentials`)).toContain("new-secret");
  expect([...node.credentialFiles.values()].join("")).not.toContain("old-secret");
  expect([...node.credentialFiles.keys()]).toEqual([...Object.keys(files), ...ours]);
});

it("creates no credential file of 2.x if there is none", () => {
  using node = new FakeNode();
  refreshCredentials(node.credentials, podOf(), credentialsOf("new"));
  expect([...node.credentialFiles.keys()]).toEqual(["s3-csi-config", "s3-csi-keys"]);
});
