/** Which certificates are trusted: those of the system, and one bundle of the installation's own on top (PR-8). */
import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import { unlessErrno } from "../runtime/errno.ts";

/** Where Debian, and with it the image, has the roots of the system. */
const systemRoots = "/etc/ssl/certs/ca-certificates.crt";

/** `bundle` names a file with certificates (PEM); undefined: what Node trusts by itself. */
export function trusted(bundle: string | undefined, system = systemRoots): readonly string[] | undefined {
  if (bundle === undefined) return undefined;
  return [...rootCertificates, ...readIfThere(system), readFileSync(bundle, "utf8")];
}

function readIfThere(file: string): readonly string[] {
  const content = unlessErrno(["ENOENT"], () => readFileSync(file, "utf8"));
  return content === undefined ? [] : [content]; // an image without the file still has the roots of Node
}
