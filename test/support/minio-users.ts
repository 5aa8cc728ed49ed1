/** Users of a MinIO with made-up keys, and rights as tests write them. */
import { randomBytes } from "node:crypto";
import type { MinioAdmin, Statement } from "../../lab/minio-admin.ts";
import type { Account } from "../../lab/s3.ts";
import { madeUpKeys } from "./s3-accounts.ts";

export const everything: Statement = { Effect: "Allow", Action: ["s3:*"], Resource: ["arn:aws:s3:::*"] };

/** May read, write and list below the prefix, and nothing else. */
export function onlyBelow(bucket: string, prefix: string): readonly Statement[] {
  return [
    {
      Effect: "Allow",
      Action: ["s3:ListBucket"],
      Resource: [`arn:aws:s3:::${bucket}`],
      Condition: { StringLike: { "s3:prefix": [`${prefix}*`] } },
    },
    {
      Effect: "Allow",
      Action: ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"],
      Resource: [`arn:aws:s3:::${bucket}/${prefix}*`],
    },
  ];
}

export async function newUser(admin: MinioAdmin, statements: readonly Statement[]): Promise<Account> {
  const account = madeUpKeys();
  const policy = `policy-${randomBytes(4).toString("hex")}`;
  await admin.putPolicy(policy, ...statements);
  await admin.addUser(account, policy);
  return account;
}
