/** `doctor --class NAME`: provisions a claim of a StorageClass before users do, and deletes it again. */
import { randomBytes } from "node:crypto";
import { driverName } from "../../core/names.ts";
import type { Claim, EventObject, StorageClass } from "../../topology/objects.ts";
import { paths } from "../../topology/paths.ts";
import type { ApiServer } from "../api/api-server.ts";
import { UserError } from "../user-error.ts";
import type { Finding } from "./finding.ts";

const limitMs = 120_000;
const pollMs = 500;

export async function tryClass(
  signal: AbortSignal,
  api: ApiServer,
  { name, namespace }: { readonly name: string; readonly namespace: string },
): Promise<readonly Finding[]> {
  const path = `/apis/storage.k8s.io/v1/storageclasses/${encodeURIComponent(name)}`;
  const found = await api.json<StorageClass>(signal, { path });
  if (found.provisioner !== driverName)
    throw new UserError(
      `StorageClass ${name} belongs to ${found.provisioner}`,
      `name a class whose provisioner is ${driverName}`,
    );
  if (found.volumeBindingMode === "WaitForFirstConsumer")
    throw new UserError(
      `StorageClass ${name} provisions only for a Pod (WaitForFirstConsumer)`,
      "try it with a Pod of your own",
    );
  const claim = claimOf(name, namespace);
  await api.json(signal, { method: "POST", path: paths.claims(namespace), body: claim });
  const claimPath = `${paths.claims(namespace)}/${claim.metadata.name}`;
  try {
    return await outcome(signal, api, { name, namespace, claimPath, claim: claim.metadata.name });
  } finally {
    // Also after Ctrl-C. The bucket is empty, so every delete policy but retain removes it.
    await api.json(AbortSignal.timeout(10_000), { method: "DELETE", path: claimPath });
  }
}

function claimOf(storageClassName: string, namespace: string) {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: `s3-csi-doctor-${randomBytes(4).toString("hex")}`, namespace },
    spec: { storageClassName, accessModes: ["ReadWriteMany"], resources: { requests: { storage: "1Gi" } } },
  };
}

interface Trial {
  readonly name: string;
  readonly namespace: string;
  readonly claimPath: string;
  readonly claim: string;
}

async function outcome(signal: AbortSignal, api: ApiServer, trial: Trial): Promise<readonly Finding[]> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  const query = { fieldSelector: `involvedObject.name=${trial.claim}` };
  while (!limited.aborted) {
    const { status } = await api.json<Claim>(signal, { path: trial.claimPath });
    if (status?.phase === "Bound") return [];
    const events = await api.list<EventObject>(signal, paths.events(trial.namespace), { query });
    const failure = events.find(({ reason }) => reason === "ProvisioningFailed");
    if (failure !== undefined) return [failed(trial, failure.message ?? "")];
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  return [failed(trial, `the claim was not bound within ${limitMs / 1000} s, and there is no event`)];
}

function failed({ name, namespace }: Trial, evidence: string): Finding {
  return {
    id: "class-unusable",
    severity: "problem",
    summary: `StorageClass ${name} provisions no bucket`,
    evidence,
    fix: `kubectl get storageclass ${name} -o yaml; the trial was made in namespace ${namespace}`,
  };
}
