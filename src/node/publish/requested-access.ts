/** Whose credentials a request of kubelet asks for, and at which store. */

import { DriverError } from "../../core/errors.ts";
import { podIdentityIsOff, storeWithoutSts } from "../../core/failures/pod-identity-refusals.ts";
import { defaultStore, type Store, type Stores } from "../../core/stores/store.ts";
import { contradicts, namesStore, type StoreReference, storeOf } from "../../core/stores/store-of.ts";
import { attributeRefusal } from "../../core/volume/attribute-refusal.ts";
import type { VolumeAttributes } from "../../core/volume/volume-attributes.ts";
import type { NodePublishVolumeRequest } from "../../csi/gen/csi.ts";
import type { Secret } from "../../runtime/secret.ts";
import { credentialsFrom, volumeCredentialFields } from "../../s3/credentials.ts";
import type { Access, PodAccess } from "../credentials/access.ts";
import { tokenIn, withoutTokens } from "../sessions/service-account-tokens.ts";

/** What this installation offers to volumes. */
export interface Installation {
  readonly stores: Stores;
  /** Whether volumes may use credentials for the service account of the workload. */
  readonly podIdentity: boolean;
}

interface RequestedAccess {
  readonly access: Access;
  readonly token: Secret | undefined;
  readonly store: Store;
  /** That of the Secret; undefined: it names none. */
  readonly region: string | undefined;
}

type Request = Pick<NodePublishVolumeRequest, "secrets" | "volumeContext">;
type Texts = Readonly<Record<string, string>>;

/** Throws "invalid" with the name of the field. */
export function requestedAccess(
  installation: Installation,
  attributes: VolumeAttributes,
  request: Request,
): RequestedAccess {
  const secrets = withoutTokens(request.secrets);
  const { authenticationSource } = attributes;
  // authenticationSource "secret" without a node-publish Secret means the driver's credentials: StorageClasses of 2.x rely on that.
  const usesSecret = authenticationSource === "secret" && Object.keys(secrets).length > 0;
  const store = storeFor(installation, storeOfAttributes(attributes, request), usesSecret ? secrets : {});
  if (authenticationSource === "pod")
    return { ...podAccess(installation, attributes, { ...request, store }), store, region: undefined };
  const { name } = store;
  if (!usesSecret) return { access: { source: "driver", store: name }, token: undefined, store, region: undefined };
  const credentials = credentialsFrom("the Secret named by nodePublishSecretRef", secrets, volumeCredentialFields);
  const region = secrets["region"]?.trim() || undefined;
  return { access: { source: "secret", store: name, credentials }, token: undefined, store, region };
}

/** A dynamic volume was created at the default store if its attributes name none: the Secret of its Pods cannot move it. */
function storeOfAttributes({ store }: VolumeAttributes, { volumeContext }: Request): StoreReference {
  const isDynamic = volumeContext["dynamicProvisioning"] === "true";
  return isDynamic && !namesStore(store) ? { ...store, store: defaultStore } : store;
}

/** A Secret may say for which store its keys are. They are not used at another. */
function storeFor({ stores }: Installation, ofVolume: StoreReference, secrets: Texts): Store {
  const ofSecret = { store: secrets["store"]?.trim(), endpointUrl: secrets["endpoint_url"]?.trim() };
  if (namesStore(ofSecret) && !namesStore(ofVolume)) return storeOfSecret(stores, ofSecret);
  const store = storeOfVolume(stores, ofVolume);
  const field = contradicts(ofSecret, store);
  if (field === undefined) return store;
  throw secretRefusal(
    field,
    `names another store than the volume, which is at ${store.name}`,
    "name the store of the volume, or use the Secret with a volume of its own store",
  );
}

function storeOfVolume(stores: Stores, reference: StoreReference): Store {
  const found = storeOf(stores, reference);
  if ("store" in found) return found.store;
  throw attributeRefusal(found.field, found.problem, found.fix);
}

function storeOfSecret(stores: Stores, reference: StoreReference): Store {
  const found = storeOf(stores, reference);
  if ("store" in found) return found.store;
  throw secretRefusal(found.field, found.problem, found.fix);
}

function secretRefusal(field: keyof StoreReference, problem: string, fix: string): DriverError {
  const key = field === "store" ? "store" : "endpoint_url";
  return new DriverError("invalid", `${key} in the Secret named by nodePublishSecretRef ${problem}`, {
    hint: `In the Secret: ${fix}.`,
  });
}

function podAccess(
  { podIdentity }: Installation,
  { roleArn }: VolumeAttributes,
  { store, volumeContext, secrets }: Request & { readonly store: Store },
): { readonly access: PodAccess; readonly token: Secret } {
  if (!podIdentity) throw podIdentityIsOff();
  if (store.sts === undefined) throw storeWithoutSts(store.name);
  const namespace = volumeContext["csi.storage.k8s.io/pod.namespace"];
  const name = volumeContext["csi.storage.k8s.io/serviceAccount.name"];
  if (!namespace || !name) {
    throw new DriverError("invalid", "volume_context does not name the service account of the Pod", {
      hint: "The CSIDriver object must set podInfoOnMount: install the chart of this version.",
    });
  }
  const account = { namespace, name };
  const token = tokenIn({ secrets, volumeContext }, store.sts.audience, account);
  return { access: { source: "pod", store: store.name, account, role: roleArn }, token };
}
