/** The driver's own credentials, for volumes without credentials. */

import { DriverError } from "../../core/errors.ts";
import { kinds, type SecretObject } from "../../kube/kinds.ts";
import { secretData } from "../../kube/secret-data.ts";
import { keyOf, Store } from "../../kube/watch/store.ts";
import { type Watched, type Watcher, watch } from "../../kube/watch/watch.ts";
import type { Call } from "../../runtime/call.ts";
import type { Pulses } from "../../runtime/progress.ts";
import { type Credentials, credentialsFrom } from "../../s3/credentials.ts";
import type { DriverCredentialsConfig } from "../../s3/driver-credentials.ts";
import { explainTimeout } from "../cluster/explain-timeout.ts";

export interface DriverCredentials {
  /** The credentials that are known now, without waiting. */
  known(): Credentials | undefined;
  /** Waits for the initial list only. Rejects with the reason if there are no usable credentials. */
  get(call: Call): Promise<Credentials>;
  onChange(listener: () => void): Disposable;
  /** Keeps the credentials up to date until the call ends. */
  follow(call: Call, client: Watcher, progress: Pulses): Promise<void>;
}

/** Credentials from the environment, which change only with a restart of the node plugin. */
export function fixedCredentials(credentials: Credentials | undefined): DriverCredentials {
  return {
    known: () => credentials,
    get: async () => {
      if (credentials !== undefined) return credentials;
      throw new DriverError("notReady", "the driver has no keys of its own: AWS_ACCESS_KEY_ID is not set", {
        hint: "Give the volume keys (authenticationSource: secret), or the driver a Secret.",
      });
    },
    onChange: () => ({ [Symbol.dispose]: () => undefined }),
    follow: async () => undefined,
  };
}

/** The credentials of the driver, wherever the configuration says that they are. */
export function credentialsOfDriver(config: DriverCredentialsConfig): DriverCredentials {
  return config.from === "secret" ? new SecretCredentials(config) : fixedCredentials(config.credentials);
}

type SecretReference = DriverCredentialsConfig & { readonly from: "secret" };

/** The credentials of a Secret, or the reason why it is unusable. */
type SecretSeen = { readonly credentials: Credentials } | { readonly refusal: Error };

/** Keys of one Secret, the only one that the node plugin may read. */
export class SecretCredentials implements DriverCredentials {
  readonly store = new Store<SecretSeen>({});
  readonly #reference: SecretReference;

  constructor(reference: SecretReference) {
    this.#reference = reference;
  }

  async follow(call: Call, client: Watcher, progress: Pulses): Promise<void> {
    const { namespace, name } = this.#reference;
    const secret: Watched<SecretObject, SecretSeen> = {
      kind: kinds.secrets,
      turned: progress.pulse(`watch over the driver's Secret ${name}`),
      namespace,
      fieldSelector: `metadata.name=${name}`,
      trim: (object) => secretSeen(this.#reference, object),
    };
    await watch(call, client, secret, this.store);
  }

  known(): Credentials | undefined {
    const seen = this.#seen();
    return seen !== undefined && "credentials" in seen ? seen.credentials : undefined;
  }

  async get(call: Call): Promise<Credentials> {
    const { namespace, name } = this.#reference;
    const secret = `Secret ${namespace}/${name}`;
    const unread = () =>
      new DriverError("notReady", `Timed out waiting for ${secret} with the keys of the driver`, {
        hint: "Check in the log of the node plugin why it cannot read the Secret.",
      });
    await explainTimeout(call, unread, this.store.synced(call));
    const seen = this.#seen();
    if (seen === undefined) {
      throw new DriverError("notReady", `${secret} with the keys of the driver does not exist`, {
        hint: `Create it, or give the volume keys of its own (authenticationSource: secret).`,
      });
    }
    if ("refusal" in seen) throw seen.refusal;
    return seen.credentials;
  }

  onChange(listener: () => void): Disposable {
    return this.store.subscribe(listener);
  }

  #seen(): SecretSeen | undefined {
    return this.store.get(keyOf(this.#reference));
  }
}

export function secretSeen(
  { namespace, name, fields }: SecretReference,
  secret: Pick<SecretObject, "data">,
): SecretSeen {
  try {
    return { credentials: credentialsFrom(`Secret ${namespace}/${name}`, secretData(secret), fields) };
  } catch (error) {
    return { refusal: error instanceof Error ? error : new Error(String(error)) };
  }
}
