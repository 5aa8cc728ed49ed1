/** A provisioner with everything that can happen on its way to the lab's store; the buckets of its requests go with each test. */

import { afterAll, afterEach } from "vitest";
import { s3Endpoint } from "../../lab/s3.ts";
import type { CreateVolumeRequest } from "../../src/csi/gen/csi.ts";
import { locationFor } from "../../src/csi-controller/domain/bucket-location.ts";
import { bucketNames } from "./claims.ts";
import type { Cluster } from "./cluster.ts";
import { createRequest } from "./create-request.ts";
import { type CsiControllerOptions, CsiControllerProcess } from "./csi-controller-process.ts";
import { FaultyS3 } from "./faulty-s3.ts";

export class FaultyProvisioning implements AsyncDisposable {
  readonly #cluster: Cluster;
  readonly faulty: FaultyS3;
  readonly provisioner: CsiControllerProcess;
  /** Buckets that a test may have made. */
  readonly made: string[] = [];

  private constructor(cluster: Cluster, faulty: FaultyS3, provisioner: CsiControllerProcess) {
    this.#cluster = cluster;
    this.faulty = faulty;
    this.provisioner = provisioner;
  }

  static async start(cluster: Cluster): Promise<FaultyProvisioning> {
    const faulty = await FaultyS3.before(s3Endpoint);
    return new FaultyProvisioning(cluster, faulty, await CsiControllerProcess.start(cluster, { s3: faulty.url }));
  }

  /** One more, which a test may kill. */
  async another(options: Omit<CsiControllerOptions, "s3"> = {}): Promise<CsiControllerProcess> {
    return await CsiControllerProcess.start(this.#cluster, { s3: this.faulty.url, ...options });
  }

  /** A request of a name of its own; its bucket goes with the test. */
  readonly request = (options: Partial<CreateVolumeRequest> = {}): CreateVolumeRequest => {
    const wanted = createRequest({ capacityRange: { requiredBytes: 10n, limitBytes: 0n }, ...options });
    this.made.push(bucketOf(wanted.name));
    return wanted;
  };

  async restore(): Promise<void> {
    this.faulty.restore();
    const left = await bucketNames(this.#cluster.s3);
    for (const bucket of this.made.splice(0).filter((each) => left.includes(each))) {
      await this.#cluster.removeBucket(bucket);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.provisioner[Symbol.asyncDispose]();
    await this.faulty[Symbol.asyncDispose]();
  }
}

/** The bucket of a volume with default StorageClass parameters. */
export function bucketOf(requestName: string): string {
  return locationFor(requestName, { kind: "own" }).bucket;
}

/** The stage of a test file: started while its tests are collected, restored after each test, ended after the last. */
export async function provisioningOfFile(cluster: Cluster): Promise<FaultyProvisioning> {
  const stage = await FaultyProvisioning.start(cluster);
  afterEach(() => stage.restore());
  afterAll(() => stage[Symbol.asyncDispose]());
  return stage;
}
