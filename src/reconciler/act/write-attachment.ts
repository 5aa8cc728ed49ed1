/** Performs the steps of a decision that are about attachments. */
import { accountOf, duplicatesOf, restoreAccount, specPatch } from "../../core/attachment.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Call } from "../../runtime/call.ts";
import type { NewAttachment, ObservedAttachment, Step } from "../decision/decision.ts";
import type { Cluster } from "./act.ts";
import { confirmUnchanged } from "./annotate.ts";
import { attempt, type Result, untilAttachment } from "./attempt.ts";
import { nameTaken } from "./name-taken.ts";
import { warn } from "./warn.ts";

export function writeAttachment(
  call: Call,
  cluster: Cluster,
  step: Extract<Step, { readonly attachment: unknown }>,
): Promise<Result> {
  switch (step.do) {
    case "confirmAttachment":
      return confirmUnchanged(call, cluster, step.attachment);
    case "createAttachment":
      return createAttachment(call, cluster, step.attachment);
    case "rewriteAttachment":
      return rewriteAttachment(call, cluster, step);
    case "deleteAttachment":
      return deleteAttachment(call, cluster, step.attachment);
    default:
      return step satisfies never;
  }
}

async function createAttachment(call: Call, cluster: Cluster, attachment: NewAttachment): Promise<Result> {
  const { name } = attachment.metadata;
  const creation = cluster.client.create(call, kinds.attachments, attachment);
  const result = await attempt(creation, "isAlreadyExists");
  const existing = cluster.view.attachments.get(name);
  if (result === "outdated" && existing !== undefined && !hasSameKey(existing, attachment)) {
    const remedy = `kubectl delete s3pa ${name}`;
    const error = nameTaken(`attachment ${name}`, remedy);
    const { persistentVolumeName: volume } = attachment.spec;
    const message = `The attachment of PersistentVolume ${volume} cannot be created: ${error.message}`;
    const fix = `Delete it: ${remedy}`;
    const listed = Object.values(attachment.spec.mountpointS3PodAttachments).flat();
    const workloads = listed.flatMap(({ workloadPodUID }) => cluster.view.workloads.by("uid", workloadPodUID));
    for (const workload of workloads) warn(call, cluster, workload, { reason: "AttachmentRefused", message, fix });
    throw error;
  }
  await untilAttachment(call, cluster, name, (seen) => seen !== undefined);
  return result;
}

/** Then it is the wanted one: another replica created it, or an earlier request whose answer was lost. It may have lost its account. */
function hasSameKey(existing: ObservedAttachment, wanted: NewAttachment): boolean {
  const { account } = accountOf(wanted.spec);
  const spec = restoreAccount(existing, account === undefined ? [] : [account]);
  return duplicatesOf([{ ...existing, spec }], wanted).length > 0;
}

async function rewriteAttachment(
  call: Call,
  cluster: Cluster,
  { attachment, spec }: Step & { do: "rewriteAttachment" },
): Promise<Result> {
  const { name, resourceVersion } = attachment.metadata;
  const patch = { metadata: { resourceVersion }, spec: specPatch(attachment.spec, spec) };
  const change = cluster.client.patch(call, kinds.attachments, { name }, patch);
  const result = await attempt(change, "isConflict", "isNotFound");
  await untilAttachment(call, cluster, name, (seen) => seen?.metadata.resourceVersion !== resourceVersion);
  return result;
}

async function deleteAttachment(call: Call, cluster: Cluster, attachment: ObservedAttachment): Promise<Result> {
  const { name, uid, resourceVersion } = attachment.metadata;
  const deletion = cluster.client.delete(call, kinds.attachments, { name }, { uid, resourceVersion });
  const result = await attempt(deletion, "isConflict");
  await untilAttachment(call, cluster, name, (seen) => seen?.metadata.resourceVersion !== resourceVersion);
  return result;
}
