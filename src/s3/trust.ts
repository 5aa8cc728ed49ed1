/** The trusted certificates: those of the system, and the bundle of the installation (PR-8). */
import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import { unlessErrno } from "../runtime/errno.ts";

/** The file of the system roots in Debian, on which the image is based. */
const systemRoots = "/etc/ssl/certs/ca-certificates.crt";

/** `bundle` is a file with certificates (PEM); undefined: the roots of Node. Throws if the bundle cannot be read. */
export function trusted(bundle: string | undefined, system = systemRoots): readonly string[] | undefined {
  if (bundle === undefined) return undefined;
  return [...rootCertificates, ...readIfThere(system), readFileSync(bundle, "utf8")];
}

/** As `trusted`, for certificates that are in the configuration. */
export function trustedWith(certificates: string | undefined, system = systemRoots): readonly string[] | undefined {
  return certificates === undefined ? undefined : [...rootCertificates, ...readIfThere(system), certificates];
}

function readIfThere(file: string): readonly string[] {
  const content = unlessErrno(["ENOENT"], () => readFileSync(file, "utf8"));
  return content === undefined ? [] : [content]; // an image without the file still has the roots of Node
}
