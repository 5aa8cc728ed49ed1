/** The answer of STS to AssumeRoleWithWebIdentity: four fields of a small XML document. */
import { Secret } from "../../runtime/secret.ts";
import type { Credentials } from "../credentials.ts";

/** Temporary credentials, and when they end by the clock of STS. */
export interface SessionAnswer {
  readonly credentials: Credentials;
  readonly endsAt: Date;
}

/** undefined: the document does not have all four fields in its one `Credentials` element. */
export function sessionIn(xml: string): SessionAnswer | undefined {
  const { block, rest = "" } = element(xml, "Credentials");
  if (block === undefined || element(rest, "Credentials").block !== undefined) return undefined;
  const accessKeyId = field(block, "AccessKeyId");
  const secretAccessKey = field(block, "SecretAccessKey");
  const sessionToken = field(block, "SessionToken");
  const endsAt = new Date(field(block, "Expiration") ?? "");
  if (!accessKeyId || !secretAccessKey || !sessionToken || Number.isNaN(endsAt.getTime())) return undefined;
  const [id, key, token] = [accessKeyId, secretAccessKey, sessionToken].map((value) => new Secret(value));
  return { credentials: { accessKeyId: id, secretAccessKey: key, sessionToken: token } as Credentials, endsAt };
}

/** Code and message of a refusal; undefined: the answer is not from STS. Stores put an access key id into messages, but none was sent. */
export function refusalIn(xml: string): { readonly code: string; readonly message: string } | undefined {
  const { block } = element(xml, "Error");
  const code = block && field(block, "Code");
  if (!block || !code) return undefined;
  return { code, message: field(block, "Message") ?? "" };
}

interface Element {
  readonly block?: string;
  /** The text after the element. */
  readonly rest?: string;
}

/** Not a pattern: with many start tags and no end tag one would read the rest of the text from each of them. */
function element(xml: string, name: string): Element {
  const [start, end] = [`<${name}>`, `</${name}>`];
  const startsAt = xml.indexOf(start);
  const endsAt = startsAt < 0 ? -1 : xml.indexOf(end, startsAt);
  if (endsAt < 0) return {};
  return { block: xml.slice(startsAt + start.length, endsAt), rest: xml.slice(endsAt + end.length) };
}

/** Credentials are written to files that mount-s3 reads line by line, and refusals into events: neither has control characters. */
function field(block: string, name: string): string | undefined {
  const [, text] = new RegExp(`<${name}>([^<]*)</${name}>`).exec(block) ?? [];
  const value = text?.replaceAll(/&(?:#(\d+)|#x([\da-fA-F]+)|(\w+));/g, decoded).trim();
  return value === undefined || /\p{Cc}/u.test(value) ? undefined : value;
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function decoded(reference: string, decimal?: string, hexadecimal?: string, name = ""): string {
  const codePoint = Number.parseInt(decimal ?? hexadecimal ?? "", decimal === undefined ? 16 : 10);
  if (Number.isNaN(codePoint)) return entities[name] ?? reference;
  return codePoint <= 0x10_ff_ff ? String.fromCodePoint(codePoint) : reference;
}
