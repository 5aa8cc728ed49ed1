/**
 * Takes the driver's finalizer off every Secret that carries it: before the driver goes, and when the protection is turned off.
 * Nobody else would, and neither the Secrets nor their namespaces could be deleted any more.
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
  // A CSI controller service that still runs protects no further Secret from here on.
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
  call.log.info("Secrets of volumes are released", { secrets: records.length });
}
