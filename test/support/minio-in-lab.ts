/** MinIO in the lab of a test: Pods and nodes reach it, and its STS takes tokens of the lab's service accounts. */
import { S3Client } from "@aws-sdk/client-s3";
import type { MinioAdmin, Statement } from "../../lab/minio-admin.ts";
import type { Progress } from "../../lab/progress.ts";
import { type Account, minioAccount, minioEndpoint, s3Region } from "../../lab/s3.ts";
import { startMinio, stopMinio } from "../../lab/start-minio.ts";
import type { Cluster } from "./cluster.ts";
import { everything, newUser } from "./minio-users.ts";
import type { TemporaryAccount } from "./s3-accounts.ts";
import { programsOf } from "./store-programs.ts";

const quiet: Progress = { task: (_title, work) => work({ at: () => undefined }), say: () => undefined };
const patience = () => AbortSignal.timeout(120_000);

export class MinioInLab implements AsyncDisposable {
  readonly s3: S3Client;
  readonly #cluster: Cluster;
  readonly #admin: MinioAdmin;
  /** Somebody works with it in this lab: then it stays. */
  readonly #isOurs: boolean;

  private constructor(cluster: Cluster, admin: MinioAdmin, isOurs: boolean) {
    this.#cluster = cluster;
    this.#admin = admin;
    this.#isOurs = isOurs;
    this.s3 = this.client(minioAccount);
  }

  static async start(cluster: Cluster): Promise<MinioInLab> {
    const isOurs = cluster.lab.component("minio").process === undefined;
    return new MinioInLab(cluster, await startMinio(patience(), cluster.lab, programsOf("MINIO"), quiet), isOurs);
  }

  client(credentials: Account): S3Client {
    return new S3Client({ endpoint: minioEndpoint, region: s3Region, credentials, forcePathStyle: true });
  }

  /** May do everything with every bucket. */
  async newAccount(): Promise<TemporaryAccount> {
    const account = await newUser(this.#admin, [everything]);
    let exists = true;
    const revoke = async () => {
      if (exists) await this.#admin.removeUser(account);
      exists = false;
    };
    return { ...account, revoke, [Symbol.asyncDispose]: revoke };
  }

  /** What Pods with this service account may do. */
  async allow(namespace: string, account: string, statements: readonly Statement[]): Promise<void> {
    await this.#admin.putPolicy(`system:serviceaccount:${namespace}:${account}`, ...statements);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.s3.destroy();
    if (this.#isOurs) await stopMinio(patience(), this.#cluster.lab);
  }
}
