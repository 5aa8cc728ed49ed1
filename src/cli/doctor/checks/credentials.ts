/** Checks of Secrets and certificates. */
import { X509Certificate } from "node:crypto";
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

const soonMs = 30 * 86_400_000;

export function checkCaBundle({ caBundle, now }: Installation): readonly Finding[] {
  if (caBundle === undefined || caBundle.pem === "unreadable") return [];
  const { configMap, pem } = caBundle;
  const fix = `put the CA into key ca-bundle.crt of ConfigMap ${configMap}, in the namespace of Mountpoint Pods, too`;
  if (pem === "missing")
    return [
      {
        id: "ca-missing",
        severity: "problem",
        summary: `ConfigMap ${configMap} with the CA is missing or has no key ca-bundle.crt`,
        evidence: "the chart's value tls.caCertConfigMap names it",
        fix,
      },
    ];
  const blocks = pem.text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0)
    return [
      {
        id: "ca-invalid",
        severity: "problem",
        summary: `ConfigMap ${configMap} has no certificate`,
        evidence: "no block BEGIN CERTIFICATE in ca-bundle.crt",
        fix,
      },
    ];
  return blocks.flatMap((block) => certificateFindings(block, configMap, now, fix));
}

function certificateFindings(block: string, configMap: string, now: Date, fix: string): readonly Finding[] {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(block);
  } catch (error) {
    return [
      {
        id: "ca-invalid",
        severity: "problem",
        summary: `ConfigMap ${configMap} has a certificate that cannot be read`,
        evidence: (error as Error).message,
        fix,
      },
    ];
  }
  const leftMs = Date.parse(certificate.validTo) - now.getTime();
  if (leftMs > soonMs) return [];
  const subject = certificate.subject.replaceAll("\n", ", ");
  const evidence = `${subject}: valid until ${certificate.validTo}`;
  return leftMs < 0
    ? [
        {
          id: "ca-expired",
          severity: "problem",
          summary: `A CA certificate of ConfigMap ${configMap} has expired`,
          evidence,
          fix,
        },
      ]
    : [
        {
          id: "ca-ends-soon",
          severity: "warning",
          summary: `A CA certificate of ConfigMap ${configMap} expires soon`,
          evidence,
          fix,
        },
      ];
}

export function checkStore({ store }: Installation): readonly Finding[] {
  if (store?.state !== "failed") return [];
  return [
    {
      id: "store-unusable",
      severity: "problem",
      summary: `The S3 endpoint ${store.endpoint} cannot be used from inside the cluster`,
      evidence: store.problem,
      fix: "check s3.endpointUrl and s3.region in the chart's values, the driver's Secret, the CA (tls.*), proxies and network policies",
    },
  ];
}
