/** The flag that a mistyped one most likely stands for. Flags of several words are often typed without their first words. */
export function nearest(mistyped: string, flags: readonly string[]): string | undefined {
  const [best] = flags
    .map((flag) => ({ flag, distance: Math.min(...endings(flag).map(distanceFrom(mistyped))) }))
    .toSorted((a, b) => a.distance - b.distance);
  return best?.flag;
}

/** `a-b-c` → `a-b-c`, `b-c`, `c`. */
function endings(flag: string): readonly string[] {
  const words = flag.split("-");
  return words.map((_, first) => words.slice(first).join("-"));
}

/** A flag without its first words is further away than the whole one, and nearer than another flag. */
function distanceFrom(mistyped: string): (ending: string, missingWords: number) => number {
  return (ending, missingWords) => editDistance(mistyped, ending) + missingWords / 2;
}

/** How many characters have to be inserted, removed, replaced or swapped with their neighbour (optimal string alignment). */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const at = (back: number, left: number) => (back === 0 ? current : rows[row - back])?.[column - left] ?? Infinity;
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current.push(
        Math.min(
          at(1, 0) + 1,
          at(0, 1) + 1,
          at(1, 1) + Number(a[row - 1] !== b[column - 1]),
          isSwapped ? at(2, 2) + 1 : Infinity,
        ),
      );
    }
    rows.push(current);
  }
  return rows[a.length]?.[b.length] ?? Infinity;
}
