/**
 * Finds keys with characters that XML does not have. Stores that do not encode keys list them with U+FFFD in their place (versitygw).
 * A prefix is sent in the URL, which has no such limit, so lists by prefix find the real character.
 */
export const replacement = "\ufffd";

/** U+FFFD itself, and the characters that XML 1.0 does not have. A key has neither U+0000 nor half a surrogate pair. */
const candidates = [
  replacement,
  ...Array.from({ length: 31 }, (_, index) => String.fromCharCode(index + 1)).filter(
    (each) => !"\t\n\r".includes(each),
  ),
  "\ufffe",
  "\uffff",
];

/**
 * The key of the object that the store lists as `listed`; undefined: there is none. `firstBelow` returns the first key below a prefix,
 * as the store lists it. Costs about thirty lists for each unknown character.
 */
export async function realKeyOf(
  listed: string,
  firstBelow: (prefix: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  const search = async (known: string, rest: string): Promise<string | undefined> => {
    const at = rest.indexOf(replacement);
    // Keys are listed in order, so the whole key comes before all keys that begin with it.
    if (at === -1) return (await firstBelow(known + rest)) === listed ? known + rest : undefined;
    for (const candidate of candidates) {
      const prefix = known + rest.slice(0, at) + candidate;
      if ((await firstBelow(prefix)) === undefined) continue;
      const found = await search(prefix, rest.slice(at + 1));
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return await search("", listed);
}
