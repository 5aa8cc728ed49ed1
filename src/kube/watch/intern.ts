/** Returns one copy of equal strings. */
export type Intern = <Text extends string>(text: Text) => Text;

/**
 * Every JSON.parse makes new copies of the same node name, namespace and label; a cache of many objects keeps one.
 * Strings that never repeat fill the pool for nothing, so it starts afresh when it is full.
 */
export function interner(limit = 10_000): Intern {
  const pool = new Map<string, string>();
  return (text) => {
    const known = pool.get(text);
    if (known !== undefined) return known as typeof text;
    if (pool.size >= limit) pool.clear();
    pool.set(text, text);
    return text;
  };
}
