/** Checks of the certificate authorities that the driver trusts. */
import { X509Certificate } from "node:crypto";
import { valueOfStore } from "../../../core/stores/store.ts";
import type { Finding } from "../finding.ts";
import { type Installation, present } from "../installation.ts";
import { storesOf } from "../stores.ts";

/** Certificates in PEM, and where they come from. */
interface Bundle {
  /** In words, such as `ConfigMap kube-system/ca`. */
  readonly source: string;
  readonly pem: string;
  readonly fix: string;
}

export function checkCaBundle({ caBundle, now }: Installation): readonly Finding[] {
  if (caBundle === undefined || caBundle.pem === "unreadable") return [];
  const { configMap, pem } = caBundle;
  const fix = `put the CA into key ca-bundle.crt of ConfigMap ${configMap}, in the namespace of Mountpoint Pods, too`;
  if (pem !== "missing") return findingsIn({ source: `ConfigMap ${configMap}`, pem: pem.text, fix }, now);
  return [
    {
      id: "ca-missing",
      severity: "problem",
      summary: `ConfigMap ${configMap} with the CA is missing or has no key ca-bundle.crt`,
      evidence: "the chart's value tls.caCertConfigMap names it",
      fix,
    },
  ];
}

/** ID-4. The authorities of the stores that the chart lists, and of their STS. */
export function checkCaOfStores({ deployment, now }: Installation): readonly Finding[] {
  const stores = [...(storesOf(present(deployment))?.values() ?? [])];
  return stores.flatMap(({ name, caCertificates, sts }) =>
    [
      { value: `${valueOfStore(name)}.caCertData`, pem: caCertificates },
      { value: `${valueOfStore(name)}.sts.caCertData`, pem: sts?.caCertificates },
    ].flatMap(({ value, pem }) => {
      if (pem === undefined) return [];
      return findingsIn({ source: `the chart value ${value}`, pem, fix: `put the CA into ${value}` }, now);
    }),
  );
}

function findingsIn(bundle: Bundle, now: Date): readonly Finding[] {
  const { source, pem, fix } = bundle;
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length > 0) return blocks.flatMap((block) => certificateFindings(block, bundle, now));
  const evidence = "no block BEGIN CERTIFICATE in it";
  return [{ id: "ca-invalid", severity: "problem", summary: `There is no certificate in ${source}`, evidence, fix }];
}

const soonMs = 30 * 86_400_000;

function certificateFindings(block: string, { source, fix }: Bundle, now: Date): readonly Finding[] {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(block);
  } catch (error) {
    const summary = `There is a certificate in ${source} that cannot be read`;
    return [{ id: "ca-invalid", severity: "problem", summary, evidence: (error as Error).message, fix }];
  }
  const leftMs = Date.parse(certificate.validTo) - now.getTime();
  if (leftMs > soonMs) return [];
  const subject = certificate.subject.replaceAll("\n", ", ");
  const evidence = `${subject}: valid until ${certificate.validTo}`;
  if (leftMs >= 0)
    return [
      { id: "ca-ends-soon", severity: "warning", summary: `A certificate in ${source} expires soon`, evidence, fix },
    ];
  return [{ id: "ca-expired", severity: "problem", summary: `A certificate in ${source} has expired`, evidence, fix }];
}
