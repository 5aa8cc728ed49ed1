/** A story takes a second, and shrinking plays hundreds: after this many it ends with the shortest that has failed until then. */
const mostStories = 60;

/** The same predicate for `fc.asyncProperty`, with an end of the shrinking: later stories pass without being played. */
export function limitedShrinking<Given>(predicate: (given: Given) => Promise<void>): (given: Given) => Promise<void> {
  let left: number | undefined;
  return async (given) => {
    if (left === 0) return;
    if (left !== undefined) left -= 1;
    try {
      await predicate(given);
    } catch (error) {
      left ??= mostStories;
      throw error;
    }
  };
}
