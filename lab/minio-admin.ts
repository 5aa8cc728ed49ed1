/** Users and policies of a MinIO, by its own client `mc`: payloads of its administration API are encrypted. */
import { randomBytes } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { attempt, CommandFailed, type Finished } from "./run.ts";
import type { Account } from "./s3.ts";

/** As IAM writes it. */
export interface Statement {
  readonly Effect: "Allow" | "Deny";
  readonly Action: readonly string[];
  readonly Resource: readonly string[];
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

export interface MinioServer {
  readonly url: string;
  /** May administer it. */
  readonly account: Account;
  /** Path of `mc`. */
  readonly client: string;
  /** A directory for the files of `mc`. */
  readonly home: string;
  /** The command line that runs a program where the server can be reached. */
  readonly reach: (argv: readonly string[]) => readonly string[];
}

const patienceMs = 60_000;
const alias = "lab";

export class MinioAdmin {
  readonly #server: MinioServer;

  constructor(server: MinioServer) {
    this.#server = server;
  }

  /** Whether it knows its users by now; it does so after it has read the documents of its OpenID Connect provider. */
  async isReady(signal: AbortSignal): Promise<boolean> {
    return (await this.#mc(signal, ["user", "list", alias])).code === 0;
  }

  async addUser({ accessKeyId, secretAccessKey }: Account, ...policies: readonly string[]): Promise<void> {
    await this.#run("user", "add", alias, accessKeyId, secretAccessKey);
    await this.#run("policy", "attach", alias, ...policies, "--user", accessKeyId);
  }

  async removeUser({ accessKeyId }: Account): Promise<void> {
    await this.#run("user", "remove", alias, accessKeyId);
  }

  async putPolicy(name: string, ...statements: readonly Statement[]): Promise<void> {
    await mkdir(this.#server.home, { recursive: true });
    const file = join(this.#server.home, `policy-${randomBytes(4).toString("hex")}.json`);
    await writeFile(file, JSON.stringify({ Version: "2012-10-17", Statement: statements }));
    try {
      await this.#run("policy", "create", alias, name, file);
    } finally {
      await rm(file);
    }
  }

  async removePolicy(name: string): Promise<void> {
    await this.#run("policy", "remove", alias, name);
  }

  async #run(...words: readonly string[]): Promise<void> {
    const finished = await this.#mc(AbortSignal.timeout(patienceMs), words);
    if (finished.code !== 0) throw new CommandFailed(["mc", "admin", ...words], finished);
  }

  async #mc(signal: AbortSignal, words: readonly string[]): Promise<Finished> {
    const { url, account, client, home, reach } = this.#server;
    const login = url.replace("//", `//${account.accessKeyId}:${account.secretAccessKey}@`);
    const env = { PATH: process.env["PATH"], HOME: home, [`MC_HOST_${alias}`]: login };
    return await attempt(reach([client, "--quiet", "admin", ...words]), { signal, env });
  }
}
