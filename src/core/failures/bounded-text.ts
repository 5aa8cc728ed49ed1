/** Texts that must fit into a number of bytes: events, answers of gRPC. */

const cut = " [cut]";

/** The text if its UTF-8 has at most `limit` bytes, else its beginning, without half a character, and a mark that it was cut. */
export function bounded(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  let end = Math.max(limit - cut.length, 0);
  while (end > 0 && isContinuation(bytes[end])) end -= 1;
  return `${bytes.toString("utf8", 0, end)}${cut}`;
}

/** Cause and fix as one text within the limit. A long cause is cut first: the fix says what to do. */
export function boundedWithFix(cause: string, fix: string | undefined, limit: number): string {
  if (fix === undefined || fix === "") return bounded(cause, limit);
  const end = `${cause.endsWith(".") ? "" : "."} ${bounded(fix, Math.floor(limit / 2))}`;
  return `${bounded(cause, limit - Buffer.byteLength(end))}${end}`;
}

/** Bytes 10xxxxxx belong to the character that began before. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x80 && byte < 0xc0;
}
