/** The certificate of a Secret of the type kubernetes.io/tls, as kubelet mounts it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Throws if the files are not there. */
export function certificateIn(directory: string): Certificate {
  const read = (name: string) => readFileSync(join(directory, name), "utf8");
  return { cert: read("tls.crt"), key: read("tls.key") };
}

export function isSameCertificate(a: Certificate, b: Certificate): boolean {
  return a.cert === b.cert && a.key === b.key;
}
