/** A MinIO of a test's own, whose users have the rights that the test gives them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { S3Client } from "@aws-sdk/client-s3";
import { vi } from "vitest";
import { minioEnvironment } from "../../lab/minio.ts";
import { MinioAdmin, type Statement } from "../../lab/minio-admin.ts";
import { type Account, rootAccount, s3Region } from "../../lab/s3.ts";
import { freePort } from "./free-port.ts";
import { newUser } from "./minio-users.ts";
import { programsOf } from "./store-programs.ts";

export interface MinioWish {
  /** The address that it listens on. */
  readonly host?: string;
  /** URL of what describes an issuer of tokens, for its STS; it has none without. */
  readonly discovery?: string;
  /** What decides about the rights of a token: its claims, unless said otherwise. */
  readonly by?: "claim" | "role";
}

export class Minio implements AsyncDisposable {
  readonly url: string;
  readonly #admin: MinioAdmin;
  readonly #undo: AsyncDisposableStack;

  private constructor(url: string, admin: MinioAdmin, undo: AsyncDisposableStack) {
    this.url = url;
    this.#admin = admin;
    this.#undo = undo;
  }

  static async start({ host = "127.0.0.1", discovery, by }: MinioWish = {}): Promise<Minio> {
    await using undo = new AsyncDisposableStack();
    const directory = await mkdtemp(join(tmpdir(), "minio-"));
    undo.defer(() => rm(directory, { recursive: true }));
    const data = join(directory, "data");
    await mkdir(data);
    const programs = programsOf("MINIO");
    const address = `${host}:${await freePort()}`;
    const server = spawn(join(programs, "minio"), ["server", "--address", address, "--quiet", data], {
      stdio: "ignore",
      env: { HOME: directory, ...minioEnvironment(discovery, rootAccount, by) },
    });
    const ended = once(server, "exit");
    undo.defer(async () => {
      server.kill("SIGKILL");
      await ended;
    });
    const url = `http://${address}`;
    const client = join(programs, "mc");
    const admin = new MinioAdmin({ url, account: rootAccount, client, home: directory, reach: (argv) => argv });
    const isReady = async () => {
      if (!(await admin.isReady(AbortSignal.timeout(10_000)))) throw new Error("MinIO is not ready");
    };
    await vi.waitFor(isReady, { timeout: 60_000, interval: 100 });
    return new Minio(url, admin, undo.move());
  }

  client(credentials: Account = rootAccount): S3Client {
    return new S3Client({ endpoint: this.url, region: s3Region, credentials, forcePathStyle: true });
  }

  async user(...statements: readonly Statement[]): Promise<Account> {
    return await newUser(this.#admin, statements);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#undo[Symbol.asyncDispose]();
  }
}
