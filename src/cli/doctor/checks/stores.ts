/** Checks of the stores that volumes can use. */

import { defaultStore, type Stores, valueOfStore } from "../../../core/stores/store.ts";
import { type StoreReference, storeOf } from "../../../core/stores/store-of.ts";
import type { Finding } from "../finding.ts";
import type { FindingId } from "../finding-ids.ts";
import { type Installation, present } from "../installation.ts";
import { storesOf } from "../stores.ts";

export function checkStores({ tried }: Installation): readonly Finding[] {
  if (tried?.state !== "tried") return [];
  const failed = tried.stores.filter(({ result }) => result === "failed");
  return failed.map(({ name, endpointUrl, problem = "no reason was given" }) => {
    const isDefault = name === defaultStore;
    const values = isDefault
      ? "s3.endpointUrl and s3.region in the chart's values, the driver's Secret, the CA (tls.*)"
      : `s3.stores.${name} in the chart's values: endpointUrl, region, caCertData and the Secret credentialSecret`;
    const whose = isDefault ? "" : ` of store ${name}`;
    return finding("store-unusable", {
      summary: `The S3 endpoint ${endpointUrl}${whose} cannot be used from inside the cluster`,
      evidence: problem,
      fix: `check ${values}, proxies and network policies`,
    });
  });
}

/** ID-4. Objects from before a store was taken from the list: the API server checks new ones. */
export function checkStoresOfVolumes({ cluster, deployment }: Installation): readonly Finding[] {
  const stores = storesOf(present(deployment));
  return cluster.volumes.flatMap(({ metadata, spec }) => {
    const problem = stores && unlisted(stores, spec.csi?.volumeAttributes);
    if (problem === undefined) return [];
    const summary = `PersistentVolume ${metadata.name} cannot be mounted, and its bucket not be deleted`;
    return [finding("volume-refused", { summary, ...problem })];
  });
}

export function checkStoresOfClasses({ classes, deployment }: Installation): readonly Finding[] {
  const stores = storesOf(present(deployment));
  return classes.flatMap(({ metadata, parameters }) => {
    const problem = stores && unlisted(stores, parameters);
    if (problem === undefined) return [];
    return [
      finding("class-parameter", {
        summary: `StorageClass ${metadata.name} names a store that volumes cannot use`,
        ...problem,
      }),
    ];
  });
}

type Fields = Readonly<Record<string, string>>;

function unlisted(
  stores: Stores,
  fields: Fields = {},
): { readonly evidence: string; readonly fix: string } | undefined {
  const reference: StoreReference = { store: fields["store"]?.trim(), endpointUrl: fields["endpointUrl"]?.trim() };
  const found = storeOf(stores, reference);
  return "store" in found ? undefined : { evidence: `${found.field} ${found.problem}`, fix: found.fix };
}

/** ID-1. Without it kubelet sends no token for the audience, and volumes with `authenticationSource: pod` are not mounted. */
export function checkTokenRequests({ csiDriver, deployment }: Installation): readonly Finding[] {
  const containers = present(deployment)?.spec.template.spec.containers ?? [];
  const isOn = containers.some(({ args = [] }) => args.some((each) => /^--pod-identity(=true)?$/.test(each)));
  const driver = present(csiDriver);
  if (!isOn || driver === undefined) return [];
  const requested = new Set(driver.spec.tokenRequests?.map(({ audience }) => audience));
  const lacking = [...(storesOf(present(deployment))?.values() ?? [])].flatMap(({ name, sts }) =>
    sts === undefined || requested.has(sts.audience) ? [] : [`${sts.audience} (${valueOfStore(name)}.sts.audience)`],
  );
  if (lacking.length === 0) return [];
  return [
    finding("csidriver-tokens", {
      summary: "kubelet does not request the service account tokens that volumes with authenticationSource: pod need",
      evidence: `tokenRequests of the CSIDriver object lacks the audience ${lacking.join(", ")}`,
      fix: "helm upgrade restores it; with csiDriver.create: false, add it where the object is made",
    }),
  ];
}

function finding(id: FindingId, text: Pick<Finding, "summary" | "evidence" | "fix">): Finding {
  return { id, severity: "problem", ...text };
}
