const limit = 1024;

/**
 * What mount-s3 says about its failure, out of the end of its log: one line, of a length that an event can show. It ends
 * with "Error: …" and "Caused by: …"; before that come lines about other things.
 */
export function mountS3Error(log: string): string {
  const start = log.search(/^Error: (?![\s\S]*^Error: )/m);
  const text = start === -1 ? log.slice(-limit) : log.slice(start);
  return text.replaceAll(/\s+/g, " ").trim().slice(0, limit);
}
