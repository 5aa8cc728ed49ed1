/** The certificates that mount-s3 trusts at a store with an authority of its own (ID-4): a file in the communication volume. */
import { comm } from "../../core/names.ts";
import type { Store } from "../../core/stores/store.ts";
import { trustedWith } from "../../s3/trust.ts";

const file = "ca-bundle.pem";

type WithCa = Pick<Store, "caCertificates">;

/** mount-s3 1.23 or later; the file replaces the roots of the system, and so contains them, too. */
export function caBundleVariables({ caCertificates }: WithCa): Readonly<Record<string, string>> {
  if (caCertificates === undefined) return {};
  return { AWS_CA_BUNDLE: `${comm.containerPath}/${comm.credentials}/${file}` };
}

export function caBundleFiles({ caCertificates }: WithCa): Readonly<Record<string, string>> {
  const certificates = trustedWith(caCertificates);
  return certificates === undefined ? {} : { [file]: certificates.map((text) => `${text.trimEnd()}\n`).join("") };
}
