/** A Garage of a test's own, which nodes and Pods of the lab reach. It is strict about the region, and has neither tags nor versions. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { S3Client } from "@aws-sdk/client-s3";
import { vi } from "vitest";
import { network } from "../../lab/layout.ts";
import { run } from "../../lab/run.ts";
import { type Account, s3Region } from "../../lab/s3.ts";
import { freePort } from "./free-port.ts";
import type { LabStore } from "./lab-store.ts";
import type { TemporaryAccount } from "./s3-accounts.ts";
import { programsOf } from "./store-programs.ts";

const program = () => join(programsOf("GARAGE"), "garage");

export class Garage implements LabStore, AsyncDisposable {
  readonly name = "garage";
  readonly port: number;
  readonly account: Account;
  readonly s3: S3Client;
  readonly #config: string;
  readonly #undo: AsyncDisposableStack;
  /** Buckets that every key knows by their name. */
  readonly #named = new Set<string>();

  private constructor(port: number, config: string, { root, undo }: { root: Account; undo: AsyncDisposableStack }) {
    this.port = port;
    this.account = root;
    this.#config = config;
    this.#undo = undo;
    this.s3 = new S3Client({ endpoint: this.url, region: s3Region, credentials: root, forcePathStyle: true });
  }

  static async start(): Promise<Garage> {
    await using undo = new AsyncDisposableStack();
    const directory = await mkdtemp(join(tmpdir(), "garage-"));
    undo.defer(() => rm(directory, { recursive: true }));
    const [port, rpcPort] = [await freePort(), await freePort()];
    const config = join(directory, "garage.toml");
    await writeFile(config, configFor(directory, port, rpcPort), { mode: 0o600 });
    const root = madeUp();
    const server = spawn(program(), ["-c", config, "server", "--single-node", "--default-bucket"], {
      stdio: "ignore",
      env: {
        GARAGE_DEFAULT_ACCESS_KEY: root.accessKeyId,
        GARAGE_DEFAULT_SECRET_KEY: root.secretAccessKey,
        GARAGE_DEFAULT_BUCKET: firstBucket,
      },
    });
    const ended = once(server, "exit");
    undo.defer(async () => {
      server.kill("SIGKILL");
      await ended;
    });
    await vi.waitFor(() => admin(config, "bucket", "info", firstBucket), { timeout: 60_000, interval: 200 });
    await admin(config, "key", "allow", "--create-bucket", root.accessKeyId);
    return new Garage(port, config, { root, undo: undo.move() });
  }

  get url(): string {
    return `http://${network.hub}:${this.port}`;
  }

  /** A key may use the buckets that it has made, and others only if it is told so. */
  async newAccount(...buckets: readonly string[]): Promise<TemporaryAccount> {
    const account = madeUp();
    const { accessKeyId, secretAccessKey } = account;
    await this.#admin("key", "import", "--yes", "-n", accessKeyId, accessKeyId, secretAccessKey);
    await this.#admin("key", "allow", "--create-bucket", accessKeyId);
    for (const bucket of buckets) {
      await this.#name(bucket);
      await this.#admin("bucket", "allow", ...rights, bucket, "--key", accessKeyId);
    }
    let exists = true;
    const revoke = async () => {
      if (exists) await this.#admin("key", "delete", "--yes", accessKeyId);
      exists = false;
    };
    return { ...account, revoke, [Symbol.asyncDispose]: revoke };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.s3.destroy();
    await this.#undo[Symbol.asyncDispose]();
  }

  /** A bucket that was made through S3 has a name for the key that made it only: other keys do not find it. */
  async #name(bucket: string): Promise<void> {
    if (this.#named.has(bucket)) return;
    const text = await this.#admin("key", "info", this.account.accessKeyId);
    const line = text.split("\n").find((each) => each.split(/\s+/).includes(bucket));
    const id = line && /\b[0-9a-f]{16,64}\b/.exec(line)?.[0];
    if (id === undefined) throw new Error(`Garage does not know bucket ${bucket}: ${text}`);
    await this.#admin("bucket", "alias", id, bucket);
    this.#named.add(bucket);
  }

  async #admin(...words: readonly string[]): Promise<string> {
    return await admin(this.#config, ...words);
  }
}

async function admin(config: string, ...words: readonly string[]): Promise<string> {
  return await run([program(), "-c", config, ...words], { signal: AbortSignal.timeout(60_000) });
}

const firstBucket = "first";
const rights = ["--read", "--write", "--owner"];

/** It takes no keys of another form. */
function madeUp(): Account {
  return { accessKeyId: `GK${randomBytes(12).toString("hex")}`, secretAccessKey: randomBytes(32).toString("hex") };
}

function configFor(directory: string, port: number, rpcPort: number): string {
  return `
metadata_dir = "${join(directory, "meta")}"
data_dir = "${join(directory, "data")}"
db_engine = "sqlite"
replication_factor = 1
rpc_bind_addr = "127.0.0.1:${rpcPort}"
rpc_public_addr = "127.0.0.1:${rpcPort}"
rpc_secret = "${randomBytes(32).toString("hex")}"
[s3_api]
s3_region = "${s3Region}"
api_bind_addr = "0.0.0.0:${port}"
`;
}
