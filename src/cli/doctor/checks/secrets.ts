/** Checks of Secrets. */
import type { Finding } from "../finding.ts";
import { type Installation, present } from "../installation.ts";
import { driverSecret, type SecretUse, secretUses } from "../secrets.ts";

export function checkSecrets(installation: Installation): readonly Finding[] {
  const { cluster, classes, secrets } = installation;
  const deployment = present(installation.deployment);
  const optional = new Set(driverSecret(deployment).map(({ secret }) => secret));
  return secretUses({ volumes: cluster.volumes, classes, deployment }).flatMap((use) => {
    const found = secrets.get(use.secret);
    if (found?.state === "missing")
      return [missingSecret(use, isDriverSecretNeeded(installation) || !optional.has(use.secret))];
    if (found?.state !== "found") return [];
    const lacking = use.keys.filter((key) => !found.keys.has(key) || found.emptyKeys.has(key));
    return lacking.length === 0 ? [] : [secretWithoutKeys(use, lacking, [...found.keys])];
  });
}

/** Without it, only volumes with Secrets of their own can be made and mounted (PR-7). */
function isDriverSecretNeeded({ cluster }: Installation): boolean {
  return cluster.volumes.some(({ spec }) => spec.csi?.nodePublishSecretRef === undefined);
}

function missingSecret({ secret, by, keys }: SecretUse, isNeeded: boolean): Finding {
  const [namespace, name] = secret.split("/");
  return {
    id: "secret-missing",
    severity: isNeeded ? "problem" : "warning",
    summary: `Secret ${secret} of ${by} does not exist`,
    evidence: "GET answers 404",
    fix: `kubectl create secret generic ${name} -n ${namespace} ${keys.map((key) => `--from-literal=${key}=…`).join(" ")}`,
  };
}

function secretWithoutKeys({ secret, by }: SecretUse, lacking: readonly string[], keys: readonly string[]): Finding {
  return {
    id: "secret-lacks-keys",
    severity: "problem",
    summary: `Secret ${secret} of ${by} lacks ${lacking.join(" and ")}`,
    evidence: `it has: ${keys.join(", ") || "no keys"}; a key with an empty value counts as missing`,
    fix: `add the keys to the Secret ${secret}`,
  };
}
