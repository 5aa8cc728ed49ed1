/** The connections to one object store, shared by calls with different credentials. */
import { type AgentOptions, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { S3Client } from "@aws-sdk/client-s3";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import type { Store } from "../core/stores/store.ts";
import type { Proxy } from "../core/volume/proxy.ts";
import { Slots } from "../runtime/slots.ts";
import { Buckets, type Region } from "./buckets.ts";
import type { Credentials } from "./credentials.ts";
import { fromStore, storeFailure } from "./error.ts";
import { maskedFor } from "./masked.ts";

export interface StoreSettings {
  readonly store: Pick<Store, "name" | "endpointUrl" | "pathStyle">;
  /** Trusted certificates (PEM); undefined: those of Node. */
  readonly trusted: readonly string[] | undefined;
  readonly proxy: Proxy;
  readonly userAgent: string;
  readonly limits: StoreLimits;
  /** Called for every operation, with all attempts of the SDK as one. Must not throw. */
  readonly onAnswered?: (answered: AnsweredOperation) => void;
}

export interface AnsweredOperation {
  /** Of the S3 API, such as `CreateBucket`. */
  readonly operation: string;
  /** `ok`, or the kind of the failure. */
  readonly result: string;
  readonly seconds: number;
}

export interface StoreLimits {
  readonly connectMs: number;
  readonly answerMs: number;
  /** The SDK waits between attempts, with exponential back-off and jitter. */
  readonly attempts: number;
}

/** Whose credentials, and the region that they sign for. */
export interface Access extends Region {
  readonly credentials: Credentials;
}

/** Requests that wait for a connection time out, too, so requests that empty buckets must leave connections to others. */
const connections = { all: 64, ofEmptying: 16 } as const;

export class ObjectStore implements Disposable {
  readonly #settings: StoreSettings;
  readonly #handler: NodeHttpHandler;
  readonly #slots = new Slots(connections.ofEmptying);

  constructor(settings: StoreSettings) {
    const { connectMs, answerMs } = settings.limits;
    // Node's agents support proxies; @types/node does not declare that yet.
    const proxied = { keepAlive: true, maxSockets: connections.all, proxyEnv: settings.proxy } as AgentOptions;
    this.#settings = settings;
    this.#handler = new NodeHttpHandler({
      connectionTimeout: connectMs,
      requestTimeout: answerMs,
      throwOnRequestTimeout: true,
      httpAgent: new HttpAgent(proxied),
      httpsAgent: new HttpsAgent({ ...proxied, ...(settings.trusted && { ca: [...settings.trusted] }) }),
    });
  }

  as({ credentials, region, regionAskedBy }: Access): Buckets {
    const { store, userAgent, limits, onAnswered } = this.#settings;
    const { accessKeyId, secretAccessKey, sessionToken } = credentials;
    const client = new S3Client({
      endpoint: store.endpointUrl,
      region,
      credentials: {
        accessKeyId: accessKeyId.reveal(),
        secretAccessKey: secretAccessKey.reveal(),
        ...(sessionToken && { sessionToken: sessionToken.reveal() }),
      },
      forcePathStyle: store.pathStyle,
      followRegionRedirects: false,
      requestHandler: this.#handler,
      maxAttempts: limits.attempts,
      retryMode: "standard",
      customUserAgent: userAgent,
      // Stores without support for the newer checksums refuse requests that have them.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
    });
    const masked = maskedFor(credentials);
    client.middlewareStack.add(
      (next, { commandName = "" }) =>
        async (args) => {
          const startedAtMs = performance.now();
          const answered = (result: string) => {
            const seconds = (performance.now() - startedAtMs) / 1000;
            onAnswered?.({ operation: commandName.replace(/Command$/, ""), result, seconds });
          };
          try {
            const output = await next(args);
            answered("ok");
            return output;
          } catch (error) {
            answered(storeFailure(error));
            throw fromStore(error, store, masked);
          }
        },
      { step: "initialize" },
    );
    return new Buckets({ client, slots: this.#slots, masked }, { region, regionAskedBy });
  }

  [Symbol.dispose](): void {
    this.#handler.destroy();
  }
}
