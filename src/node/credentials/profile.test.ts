import { expect, it } from "vitest";
import type { PodUid, VolumeId } from "../../core/names.ts";
import { Secret } from "../../runtime/secret.ts";
import { legacyProfileName, processProfile, renewedFiles, staticProfile, workloadOfFile } from "./profile.ts";

const credentials = {
  accessKeyId: new Secret("AKIA"),
  secretAccessKey: new Secret(`quo"te\\back`),
  sessionToken: new Secret("token="),
};

it("names the script and the key file, and writes the keys to no other file", () => {
  const { files, env } = processProfile(credentials);
  expect(files["s3-csi-config"]).toBe(
    "[profile s3-csi]\ncredential_process = /opt/s3-csi/print-credentials /comm/credentials/s3-csi-keys\n",
  );
  expect(env).toEqual({
    AWS_PROFILE: "s3-csi",
    AWS_CONFIG_FILE: "/comm/credentials/s3-csi-config",
    AWS_SHARED_CREDENTIALS_FILE: "/comm/credentials/s3-csi-credentials",
  });
});

it("writes members of a JSON object on one line", () => {
  const text = processProfile(credentials).files["s3-csi-keys"] ?? "";
  expect(text.split("\n")).toHaveLength(2);
  expect(JSON.parse(`{${text}}`)).toEqual({
    AccessKeyId: "AKIA",
    SecretAccessKey: `quo"te\\back`,
    SessionToken: "token=",
  });
  expect(
    JSON.parse(`{${processProfile({ ...credentials, sessionToken: undefined }).files["s3-csi-keys"]}}`),
  ).not.toHaveProperty("SessionToken");
});

const workload = "a4509011-bd2a-4f37-b1b0-05d715087852" as PodUid;
const lines = 'aws_access_key_id=AKIA\naws_secret_access_key=quo"te\\back\naws_session_token=token=\n';

it("writes the credential files that mount-s3 of 2.x reads, with the names of 2.x", () => {
  const profile = legacyProfileName(workload, "team/photos" as VolumeId);
  expect(profile).toBe(`${workload}-team~photos-s3-csi`);
  expect(staticProfile(profile, credentials)).toEqual({
    files: {
      [`${workload}-team~photos-s3-csi-config`]: `[profile ${profile}]\n`,
      [`${workload}-team~photos-s3-csi-credentials`]: `[${profile}]\n${lines}`,
    },
    env: {
      AWS_PROFILE: profile,
      AWS_CONFIG_FILE: `/comm/credentials/${profile}-config`,
      AWS_SHARED_CREDENTIALS_FILE: `/comm/credentials/${profile}-credentials`,
    },
  });
});

it("renews every existing credential file of 2.x, and no other file", () => {
  const names = ["one-s3-csi-credentials", "one-s3-csi-config", "two-s3-csi-credentials", ".two-s3-csi-credentials"];
  expect(renewedFiles([...names, "s3-csi-keys"], credentials)).toEqual({
    "one-s3-csi-credentials": `[one-s3-csi]\n${lines}`,
    "two-s3-csi-credentials": `[two-s3-csi]\n${lines}`,
  });
});

it.for([
  [`${workload}-photos-s3-csi-config`, workload],
  [`${workload}-photos-s3-csi-credentials`, workload],
  [`${workload}-photos-s3-csi-credentials.bak`, undefined],
  ["photos-s3-csi-credentials", undefined],
  ["csi.sock", undefined],
] as const)("the workload of the file %s is %s", ([file, owner]) => {
  expect(workloadOfFile(file)).toBe(owner);
});
