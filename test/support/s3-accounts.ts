/** Accounts of the lab's S3 server that a test makes and revokes: a key pair is an account there. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { run } from "../../lab/run.ts";
import { type Account, rootAccount, s3Endpoint } from "../../lab/s3.ts";
import type { Cluster } from "./cluster.ts";

/** In every key that tests make up: whatever else holds this text holds a key (SE-4). */
export const keyMark = "neverseen";

export function madeUpKeys(): Account {
  const id = randomBytes(6).toString("hex");
  return { accessKeyId: `${keyMark}-id-${id}`, secretAccessKey: `${keyMark}-secret-${id}` };
}

export interface TemporaryAccount extends Account, AsyncDisposable {
  /** From now on its keys are refused. */
  revoke(): Promise<void>;
}

/** May do everything with every bucket, as the lab's own account may. */
export async function newAccount(cluster: Cluster, keys: Account = madeUpKeys()): Promise<TemporaryAccount> {
  const { accessKeyId, secretAccessKey } = keys;
  await admin(cluster, "create-user", "--access", accessKeyId, "--secret", secretAccessKey, "--role", "admin");
  let exists = true;
  const revoke = async () => {
    if (exists) await admin(cluster, "delete-user", "--access", accessKeyId);
    exists = false;
  };
  return { accessKeyId, secretAccessKey, revoke, [Symbol.asyncDispose]: revoke };
}

async function admin({ lab }: Cluster, ...command: readonly string[]): Promise<void> {
  const { accessKeyId, secretAccessKey } = rootAccount;
  const login = ["--access", accessKeyId, "--secret", secretAccessKey, "--endpoint-url", s3Endpoint];
  const argv = [join(lab.programs.kubernetes, "versitygw"), "admin", ...login, ...command];
  await run(lab.inNetwork(argv), { signal: AbortSignal.timeout(60_000) });
}

/** The fields of a Secret, as volumes and the driver have it. */
export function secretFields({ accessKeyId, secretAccessKey }: Account) {
  return { access_key_id: accessKeyId, secret_access_key: secretAccessKey };
}

export function secretManifest(metadata: { readonly namespace: string; readonly name: string }, account: Account) {
  return { apiVersion: "v1", kind: "Secret", metadata, stringData: secretFields(account) };
}
