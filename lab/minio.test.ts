import { expect, it } from "vitest";
import { layoutOf } from "./layout.ts";
import { minioComponents, minioFiles } from "./minio.ts";

const layout = layoutOf("test");

it("MinIO and the way to it from outside are started on demand only, with files of the lab alone", () => {
  const components = minioComponents(layout);
  expect(components.map(({ name, onDemand }) => [name, onDemand])).toEqual([
    ["minio-relay", true],
    ["minio", true],
  ]);
  for (const path of Object.values(minioFiles(layout))) expect(path).toContain(`${layout.state}/minio/`);
});

it("MinIO reads the issuer's documents from the API server of the lab, and takes the policy's name from the subject", () => {
  const [, server] = minioComponents(layout);
  expect(server?.argv).toEqual(
    expect.arrayContaining([
      "MINIO_IDENTITY_OPENID_CONFIG_URL=https://10.77.0.1:6443/.well-known/openid-configuration",
      "MINIO_IDENTITY_OPENID_CLAIM_NAME=sub",
      "MINIO_IDENTITY_OPENID_CLIENT_ID=sts.amazonaws.com",
    ]),
  );
  // Every `NAME=value` stands before the program, or `env` would run it.
  const program = server?.argv.indexOf(`${layout.state}/minio/programs/minio`) ?? -1;
  expect(server?.argv.slice(1, program).every((word) => /^[A-Z_]+=./.test(word))).toBe(true);
});
