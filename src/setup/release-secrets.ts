/**
 * Removes the driver's finalizer from every Secret that has it: before the driver is uninstalled, and when the protection is turned
 * off. Otherwise neither the Secrets nor their namespaces could be deleted any more.
 */
import { DriverError } from "../core/errors.ts";
import { driverName, secretFinalizer } from "../core/names.ts";
import {
  deletionSecretIn,
  namespaceAndName,
  protectionField,
  recordKey,
  recordsIn,
  type SecretKey,
} from "../core/protected-secrets.ts";
import type { KubeClient, Ref } from "../kube/client/client.ts";
import { removeFinalizer } from "../kube/finalizers.ts";
import { kinds, type PersistentVolume } from "../kube/kinds.ts";
import type { Call } from "../runtime/call.ts";
import { elapsed } from "../runtime/elapsed.ts";
import { describeError } from "../runtime/log.ts";
import { Slots } from "../runtime/slots.ts";

type Client = Pick<KubeClient, "get" | "patch" | "pages">;

const atOnce = 8;
/** A CSI controller service that still runs may write a last record while this starts, and a request may fail once. */
const rounds = 5;
const pauseMs = 1000;

/** Only Helm knows when an uninstallation begins: a Job that was applied with all other objects must not release anything. */
const helmRelease = "meta.helm.sh/release-name";

export async function releaseSecrets(call: Call, client: Client, configMap: Ref): Promise<void> {
  const found = await client.get(call, kinds.configMaps, configMap);
  if (found !== undefined && found.metadata.annotations?.[helmRelease] === undefined) {
    call.log.info("no Secret is released: the ConfigMap does not belong to a release of Helm", { ...configMap });
    return;
  }
  for (let round = 1; ; round += 1) {
    const left = await releaseOnce(call, client, configMap);
    if (left.length === 0) return;
    if (round === rounds) throw notReleased(left);
    await elapsed(call, pauseMs);
    call.signal.throwIfAborted();
  }
}

/** Answers why Secrets still have the finalizer, or may have got it meanwhile. */
async function releaseOnce(call: Call, client: Client, configMap: Ref): Promise<readonly string[]> {
  const recorded = await turnOff(call, client, configMap);
  // Records may be lost with the ConfigMap; the volumes name their Secrets, too.
  const secrets = [...new Set([...recorded, ...(await secretsOfVolumes(call, client))])];
  const failures: string[] = [];
  const released: SecretKey[] = [];
  await new Slots(atOnce).forEach(call, secrets, async (secret) => {
    try {
      const ref = namespaceAndName(secret);
      await removeFinalizer(call, client, { kind: kinds.secrets, ref, finalizer: secretFinalizer });
      released.push(secret);
    } catch (error) {
      failures.push(`${secret}: ${describeError(error)}`);
    }
  });
  const removed = recorded.filter((secret) => released.includes(secret));
  const data = Object.fromEntries(removed.map((secret) => [recordKey(secret), null]));
  if (removed.length > 0) await client.patch(call, kinds.configMaps, configMap, { data });
  call.log.info("released the Secrets of volumes", { secrets: released.length, failures });
  return removed.length > 0 ? [...failures, "records were found, and more may follow"] : failures;
}

/** A CSI controller service that still runs protects no more Secrets after this. Answers the recorded ones. */
async function turnOff(call: Call, client: Client, configMap: Ref): Promise<readonly SecretKey[]> {
  if ((await client.get(call, kinds.configMaps, configMap)) === undefined) return [];
  const { data = {} } = await client.patch(call, kinds.configMaps, configMap, { data: { [protectionField]: "off" } });
  return recordsIn(data).map(({ secret }) => secret);
}

async function secretsOfVolumes(call: Call, client: Client): Promise<readonly SecretKey[]> {
  const secrets: SecretKey[] = [];
  for await (const { objects } of client.pages(call, kinds.persistentVolumes, {})) {
    secrets.push(...objects.flatMap((volume) => deletionSecretOf(volume) ?? []));
  }
  return secrets;
}

function deletionSecretOf({ metadata: { annotations = {} }, spec }: PersistentVolume): SecretKey | undefined {
  return spec.csi?.driver === driverName ? deletionSecretIn(annotations) : undefined;
}

function notReleased(failures: readonly string[]): DriverError {
  return new DriverError(
    "notReady",
    `Secrets still have the finalizer ${secretFinalizer}: ${failures.slice(0, 10).join("; ")}`,
    {
      hint: "Remove it by hand (docs/guides/uninstall.md), or run the command again.",
    },
  );
}
