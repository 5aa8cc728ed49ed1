/** StorageClass parameter `sharedBucketPrefix`: what the prefixes of volumes in a shared bucket begin with, such as the namespace. */
import { quoted } from "../../core/volume/attribute-refusal.ts";
import { resolved, type Variables } from "./class-variables.ts";
import { parameterRefusal } from "./parameter-refusal.ts";

/** Keys have at most 1024 bytes, and files need some of them. */
const maxBytes = 512;

/** With a slash at its end. undefined: prefixes begin with the part that identifies the volume. */
export function parseSharedPrefix(value: string | undefined, variables: Variables): string | undefined {
  const template = value?.trim();
  if (!template) return undefined;
  const prefix = resolved("sharedBucketPrefix", template, variables).replace(/\/?$/, "/");
  const names = prefix.slice(0, -1).split("/");
  // mount-s3 shows no directories with such names.
  if (/\p{Cc}/u.test(prefix) || names.some((name) => name === "" || name === "." || name === "..")) {
    throw parameterRefusal(
      "sharedBucketPrefix",
      `${quoted(prefix)} is not a prefix of directories`,
      "write names with a slash between them, such as ${pvc.namespace}",
    );
  }
  if (Buffer.byteLength(prefix) > maxBytes) {
    throw parameterRefusal("sharedBucketPrefix", `has more than ${maxBytes} bytes`, "use shorter names");
  }
  return prefix;
}
