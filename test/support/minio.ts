/** A MinIO of a test's own, whose users have the rights that the test gives them. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { S3Client } from "@aws-sdk/client-s3";
import { vi } from "vitest";
import { run } from "../../lab/run.ts";
import { type Account, rootAccount, s3Region } from "../../lab/s3.ts";
import { freePort } from "./free-port.ts";
import { madeUpKeys } from "./s3-accounts.ts";

/** As IAM writes it. */
export interface Statement {
  readonly Effect: "Allow" | "Deny";
  readonly Action: readonly string[];
  readonly Resource: readonly string[];
}

export class Minio implements AsyncDisposable {
  readonly url: string;
  readonly #directory: string;
  readonly #undo: AsyncDisposableStack;

  private constructor(url: string, directory: string, undo: AsyncDisposableStack) {
    this.url = url;
    this.#directory = directory;
    this.#undo = undo;
  }

  static async start(): Promise<Minio> {
    await using undo = new AsyncDisposableStack();
    const directory = await mkdtemp(join(tmpdir(), "minio-"));
    undo.defer(() => rm(directory, { recursive: true }));
    const data = join(directory, "data");
    await mkdir(data);
    const address = `127.0.0.1:${await freePort()}`;
    const server = spawn(program("MINIO"), ["server", "--address", address, "--quiet", data], {
      stdio: "ignore",
      env: {
        HOME: directory,
        MINIO_ROOT_USER: rootAccount.accessKeyId,
        MINIO_ROOT_PASSWORD: rootAccount.secretAccessKey,
        MINIO_UPDATE: "off",
        MINIO_BROWSER: "off",
      },
    });
    const ended = once(server, "exit");
    undo.defer(async () => {
      server.kill("SIGKILL");
      await ended;
    });
    const url = `http://${address}`;
    const isReady = async () => {
      const { status } = await fetch(`${url}/minio/health/ready`);
      if (status !== 200) throw new Error(`MinIO is not ready: ${status}`);
    };
    await vi.waitFor(isReady, { timeout: 60_000, interval: 100 });
    return new Minio(url, directory, undo.move());
  }

  client(credentials: Account = rootAccount): S3Client {
    return new S3Client({ endpoint: this.url, region: s3Region, credentials, forcePathStyle: true });
  }

  async user(...Statement: readonly Statement[]): Promise<Account> {
    const account = madeUpKeys();
    const { accessKeyId, secretAccessKey } = account;
    const policy = `policy-${randomBytes(4).toString("hex")}`;
    const file = join(this.#directory, `${policy}.json`);
    await writeFile(file, JSON.stringify({ Version: "2012-10-17", Statement }));
    await this.#admin("user", "add", "lab", accessKeyId, secretAccessKey);
    await this.#admin("policy", "create", "lab", policy, file);
    await this.#admin("policy", "attach", "lab", policy, "--user", accessKeyId);
    return account;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#undo[Symbol.asyncDispose]();
  }

  async #admin(...words: readonly string[]): Promise<void> {
    const { accessKeyId, secretAccessKey } = rootAccount;
    const env = {
      HOME: this.#directory,
      MC_HOST_lab: this.url.replace("//", `//${accessKeyId}:${secretAccessKey}@`),
    };
    await run([program("MC"), "--quiet", "admin", ...words], { signal: AbortSignal.timeout(60_000), env });
  }
}

/** `./dev test stores` says where it built them. */
function program(variable: "MINIO" | "MC"): string {
  const path = process.env[variable];
  if (path === undefined) throw new Error(`${variable} is not set: run ./dev test stores`);
  return path;
}
