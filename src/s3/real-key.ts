/**
 * Keys that a store lists with U+FFFD in place of a character that XML cannot carry, because it does not encode keys (versitygw).
 * A prefix travels in the URL, which carries everything: listing by prefix finds the character.
 */
export const replacement = "\ufffd";

/** Itself, and the characters that XML 1.0 has not. A key has no U+0000 and no half of a surrogate pair. */
const candidates = [
  replacement,
  ...Array.from({ length: 31 }, (_, index) => String.fromCharCode(index + 1)).filter(
    (each) => !"\t\n\r".includes(each),
  ),
  "\ufffe",
  "\uffff",
];

/**
 * The key of the object that is listed as `listed`; undefined: there is none. `firstBelow` gives the first key below a prefix, as
 * the store lists it. Costs some thirty listings for each character that is not known.
 */
export async function realKeyOf(
  listed: string,
  firstBelow: (prefix: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  const search = async (known: string, rest: string): Promise<string | undefined> => {
    const at = rest.indexOf(replacement);
    // No other key below the whole key is listed before it.
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
