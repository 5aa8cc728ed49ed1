import { expect, it } from "vitest";
import { Secret } from "../../runtime/secret.ts";
import { processProfile, staticProfile } from "./profile.ts";

const keys = {
  accessKeyId: new Secret("AKIA"),
  secretAccessKey: new Secret(`quo"te\\back`),
  sessionToken: new Secret("token="),
};

it("names the script and the file with the keys, and puts the keys nowhere else", () => {
  const { files, env } = processProfile(keys);
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
  const text = processProfile(keys).files["s3-csi-keys"] ?? "";
  expect(text.split("\n")).toHaveLength(2);
  expect(JSON.parse(`{${text}}`)).toEqual({
    AccessKeyId: "AKIA",
    SecretAccessKey: `quo"te\\back`,
    SessionToken: "token=",
  });
  expect(
    JSON.parse(`{${processProfile({ ...keys, sessionToken: undefined }).files["s3-csi-keys"]}}`),
  ).not.toHaveProperty("SessionToken");
});

it("writes what mount-s3 in an image of 2.x reads", () => {
  expect(staticProfile(keys).files).toEqual({
    "s3-csi-config": "[profile s3-csi]\n",
    "s3-csi-credentials":
      '[s3-csi]\naws_access_key_id=AKIA\naws_secret_access_key=quo"te\\back\naws_session_token=token=\n',
  });
});
