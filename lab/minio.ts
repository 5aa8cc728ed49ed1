/** MinIO beside the lab's own S3 server: its command line, and where its files are. It is STS for the service accounts of the lab, too. */
import { join } from "node:path";
import type { ComponentSpec } from "./component.ts";
import { relay } from "./control-plane.ts";
import { type Layout, network } from "./layout.ts";
import { minioAccount, minioAudience } from "./s3.ts";

export interface MinioFiles {
  /** A link to the built programs: no lab is started with them, and a running lab may get them. */
  readonly programs: string;
  readonly data: string;
  readonly certificates: string;
  /** What `mc` keeps, and the policies that it reads. */
  readonly home: string;
}

export function minioFiles({ state }: Layout): MinioFiles {
  const directory = join(state, "minio");
  return {
    programs: join(directory, "programs"),
    data: join(directory, "data"),
    certificates: join(directory, "certificates"),
    home: join(directory, "home"),
  };
}

export function minioComponents(layout: Layout): readonly ComponentSpec[] {
  const { programs, data, certificates, home } = minioFiles(layout);
  const environment = Object.entries({ HOME: home, ...minioEnvironment(discoveryUrl) });
  const server = [join(programs, "minio"), "server", "--address", `:${network.minioPort}`];
  return [
    { ...relay("minio-relay", layout.minioSocket, network.minioPort), onDemand: true },
    {
      name: "minio",
      onDemand: true,
      argv: [
        "env",
        ...environment.map(([name, value]) => `${name}=${value}`),
        ...[...server, "--certs-dir", certificates, "--quiet", data],
      ],
    },
  ];
}

const discoveryUrl = `https://${network.hub}:${network.apiPort}/.well-known/openid-configuration`;

/**
 * Tokens of the issuer that the document at `discovery` describes are exchanged for credentials. By claim, the policy for a service account
 * has the name of the token's subject, and roles that are not known are ignored. By role, requests must name one that is known, and all
 * accounts have its policy. Without a document there is no STS for tokens.
 */
export function minioEnvironment(
  discovery: string | undefined,
  { accessKeyId, secretAccessKey } = minioAccount,
  by: "claim" | "role" = "claim",
): Readonly<Record<string, string>> {
  return {
    MINIO_ROOT_USER: accessKeyId,
    MINIO_ROOT_PASSWORD: secretAccessKey,
    MINIO_UPDATE: "off",
    MINIO_BROWSER: "off",
    ...(discovery !== undefined && {
      MINIO_IDENTITY_OPENID_CONFIG_URL: discovery,
      MINIO_IDENTITY_OPENID_CLIENT_ID: minioAudience,
      ...(by === "claim"
        ? { MINIO_IDENTITY_OPENID_CLAIM_NAME: "sub" }
        : { MINIO_IDENTITY_OPENID_ROLE_POLICY: "readonly" }),
    }),
  };
}
