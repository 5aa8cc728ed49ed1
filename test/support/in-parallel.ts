/** Many requests of the same kind: a few at a time, so that a server is busy and not flooded. */
export async function inParallel<One>(
  all: readonly One[],
  perform: (one: One) => Promise<unknown>,
  atOnce = 16,
): Promise<void> {
  const left = all.values();
  const work = async () => {
    for (const one of left) await perform(one);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}
