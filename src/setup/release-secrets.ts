/**
 * Removes the driver's finalizer from every Secret that has it: before the driver is uninstalled, and when the protection is turned
 * off. Otherwise neither the Secrets nor their namespaces could be deleted any more.
 */
import { secretFinalizer } from "../core/names.ts";
import { namespaceAndName, protectionField, recordKey, recordsIn } from "../core/protected-secrets.ts";
import type { KubeClient, Ref } from "../kube/client/client.ts";
import { removeFinalizer } from "../kube/finalizers.ts";
import { kinds } from "../kube/kinds.ts";
import type { Call } from "../runtime/call.ts";
import { Slots } from "../runtime/slots.ts";

const atOnce = 8;

export async function releaseSecrets(
  call: Call,
  client: Pick<KubeClient, "get" | "patch">,
  configMap: Ref,
): Promise<void> {
  if ((await client.get(call, kinds.configMaps, configMap)) === undefined) return;
  // A CSI controller service that still runs protects no more Secrets after this.
  const { data = {} } = await client.patch(call, kinds.configMaps, configMap, { data: { [protectionField]: "off" } });
  const records = recordsIn(data);
  await new Slots(atOnce).forEach(call, records, async ({ secret }) => {
    await removeFinalizer(call, client, {
      kind: kinds.secrets,
      ref: namespaceAndName(secret),
      finalizer: secretFinalizer,
    });
    await client.patch(call, kinds.configMaps, configMap, { data: { [recordKey(secret)]: null } });
  });
  call.log.info("released the Secrets of volumes", { secrets: records.length });
}
