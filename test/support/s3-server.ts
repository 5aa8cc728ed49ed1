/** An S3 server of a test's own, for what the lab's server is not: in another region, or with a certificate. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { S3Client } from "@aws-sdk/client-s3";
import { vi } from "vitest";
import { run } from "../../lab/run.ts";
import { type Account, rootAccount } from "../../lab/s3.ts";
import type { Cluster } from "./cluster.ts";
import { freePort } from "./free-port.ts";

export interface S3ServerWish {
  readonly region?: string;
  /** Signs the server's certificate; without one the server speaks plain HTTP. */
  readonly authority?: Authority;
  /** That of the lab's server unless the test says otherwise. */
  readonly account?: Account;
}

export class S3Server implements AsyncDisposable {
  readonly url: string;
  readonly #account: Account;
  readonly #undo: AsyncDisposableStack;

  private constructor(url: string, account: Account, undo: AsyncDisposableStack) {
    this.url = url;
    this.#account = account;
    this.#undo = undo;
  }

  static async start(cluster: Cluster, wish: S3ServerWish): Promise<S3Server> {
    const { region = "us-east-1", authority, account = rootAccount } = wish;
    await using undo = new AsyncDisposableStack();
    const directory = await mkdtemp(join(tmpdir(), "s3-server-"));
    undo.defer(() => rm(directory, { recursive: true }));
    const buckets = join(directory, "buckets");
    await mkdir(buckets);
    const certificate = authority === undefined ? [] : await authority.certificateIn(directory);
    const port = await freePort();
    const program = join(cluster.lab.programs.kubernetes, "versitygw");
    const flags = ["--port", `127.0.0.1:${port}`, "--region", region, ...certificate];
    const server = spawn(program, [...flags, "posix", buckets], {
      stdio: "ignore",
      env: { ROOT_ACCESS_KEY: account.accessKeyId, ROOT_SECRET_KEY: account.secretAccessKey },
    });
    const ended = once(server, "exit");
    undo.defer(async () => {
      server.kill("SIGKILL");
      await ended;
    });
    await vi.waitFor(() => canConnect(port), { timeout: 30_000, interval: 50 });
    const url = `${authority === undefined ? "http" : "https"}://127.0.0.1:${port}`;
    return new S3Server(url, account, undo.move());
  }

  client(region: string): S3Client {
    return new S3Client({ endpoint: this.url, region, credentials: this.#account, forcePathStyle: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#undo[Symbol.asyncDispose]();
  }
}

/** Signs certificates for 127.0.0.1. */
export class Authority implements AsyncDisposable {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async make(name: string): Promise<Authority> {
    const authority = new Authority(await mkdtemp(join(tmpdir(), "s3-ca-")));
    await authority.#openssl(["-subj", `/CN=${name}`, "-keyout", "ca.key", "-out", "ca.crt"]);
    return authority;
  }

  /** What has to be trusted. */
  get bundle(): string {
    return join(this.#directory, "ca.crt");
  }

  /** Flags of the server. */
  async certificateIn(directory: string): Promise<readonly string[]> {
    const [cert, key] = [join(directory, "tls.crt"), join(directory, "tls.key")];
    const names = ["-addext", "basicConstraints=critical,CA:FALSE", "-addext", "subjectAltName=IP:127.0.0.1"];
    await this.#openssl([
      ...["-CA", "ca.crt", "-CAkey", "ca.key", "-subj", "/CN=s3", ...names, "-keyout", key, "-out", cert],
    ]);
    return ["--cert", cert, "--key", key];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true });
  }

  async #openssl(args: readonly string[]): Promise<void> {
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
    const options = { signal: AbortSignal.timeout(60_000), cwd: this.#directory };
    await run(["openssl", "req", "-x509", ...curve, ...args], options);
  }
}

async function canConnect(port: number): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.destroy();
}
