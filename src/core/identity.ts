/**
 * Whose credentials a mount uses, as a text: on Mountpoint Pods it is an annotation. Workloads share a mount only with the same identity
 * (SE-6, ID-1). Those of the default store are the texts of earlier versions.
 */
import { defaultStore, type StoreName } from "./stores/store.ts";

export type Identity = string & { readonly __brand: "Identity" };

export type CredentialSource = "driver" | "secret" | "pod";

/** A service account in the namespace of the workload. */
export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

export function driverIdentity(store: StoreName): Identity {
  return identity("driver", store);
}

export function secretIdentity(
  secret: { readonly namespace?: string; readonly name?: string },
  store: StoreName,
): Identity {
  return identity(`secret:${secret.namespace}/${secret.name}`, store);
}

/** `role`: that of the volume. An account's own role may change, for all of its workloads at once. */
export function podIdentity({ namespace, name }: ServiceAccount, role: string | undefined, store: StoreName): Identity {
  const text = identity(`pod:${namespace}/${name}`, store);
  return role === undefined ? text : (`${text}#${role}` as Identity);
}

/** undefined: an earlier or later driver wrote it. Names of Kubernetes objects and of stores contain none of the separators. */
export function parseIdentity(
  text: string,
): { readonly source: CredentialSource; readonly store: StoreName } | undefined {
  const { source, store } =
    /^(?<source>driver|secret|pod)(?::[^@#]*)?(?:@(?<store>[^@#]+))?(?:#.*)?$/.exec(text)?.groups ?? {};
  if (source === undefined) return undefined;
  return { source: source as CredentialSource, store: (store ?? defaultStore) as StoreName };
}

/** The account of a `podIdentity`; undefined: it is that of no account. */
export function accountIn(text: string): ServiceAccount | undefined {
  const { namespace, name } = /^pod:(?<namespace>[^/@#]+)\/(?<name>[^/@#]+)/.exec(text)?.groups ?? {};
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}

function identity(text: string, store: StoreName): Identity {
  return (store === defaultStore ? text : `${text}@${store}`) as Identity;
}
