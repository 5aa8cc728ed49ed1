/** The driver's own credentials at each store (ID-4): those of one store are never used at another. */
import { DriverError } from "../../core/errors.ts";
import { defaultStore, type Store, type StoreName, type Stores } from "../../core/stores/store.ts";
import type { Watcher } from "../../kube/watch/watch.ts";
import type { Call } from "../../runtime/call.ts";
import type { Pulses } from "../../runtime/progress.ts";
import type { DriverCredentialsConfig } from "../../s3/driver-credentials.ts";
import { credentialsOfDriver, type DriverCredentials, SecretCredentials } from "./driver-credentials.ts";

export class DriverCredentialsOfStores {
  readonly #all: ReadonlyMap<StoreName, DriverCredentials>;

  constructor(stores: Stores, ofDefault: DriverCredentialsConfig) {
    const namespace = ofDefault.from === "secret" ? ofDefault.namespace : undefined;
    this.#all = new Map(
      Array.from(stores, ([name, store]) => [
        name,
        name === defaultStore ? credentialsOfDriver(ofDefault) : credentialsOf(store, namespace),
      ]),
    );
  }

  of(store: StoreName): DriverCredentials {
    return this.#all.get(store) ?? refusing(`store ${store} is not a store of this installation any more`, "s3.stores");
  }

  onChange(listener: (store: StoreName) => void): Disposable {
    const stack = new DisposableStack();
    for (const [store, credentials] of this.#all) stack.use(credentials.onChange(() => listener(store)));
    return stack;
  }

  /** Keeps all of them up to date until the call ends. */
  async follow(call: Call, client: Watcher, progress: Pulses): Promise<void> {
    await Promise.all(Array.from(this.#all.values(), (credentials) => credentials.follow(call, client, progress)));
  }
}

/** The Secrets of all stores are in the namespace of the release, which only our chart passes. */
function credentialsOf({ name, credentials }: Store, namespace: string | undefined): DriverCredentials {
  const value = `s3.stores.${name}.credentialSecret`;
  if (credentials === undefined) return refusing(`the driver has no keys of its own for store ${name}`, value);
  if (namespace === undefined)
    return refusing("the namespace of the driver's Secrets is not known", "s3CredentialSecret");
  const { secret, accessKeyIdField, secretAccessKeyField, sessionTokenField } = credentials;
  return new SecretCredentials({
    from: "secret",
    namespace,
    name: secret,
    fields: {
      accessKeyId: accessKeyIdField,
      secretAccessKey: secretAccessKeyField,
      sessionToken: sessionTokenField,
    },
  });
}

function refusing(problem: string, value: string): DriverCredentials {
  return {
    known: () => undefined,
    get: async () => {
      throw new DriverError("notReady", problem, {
        hint: `Give the volume keys of its own (authenticationSource: secret), or set the chart value ${value}.`,
      });
    },
    onChange: () => ({ [Symbol.dispose]: () => undefined }),
    follow: async () => undefined,
  };
}
