/** Something that runs until it is told to end, which it is when the test leaves it behind. */
export function ending(run: (signal: AbortSignal) => Promise<void>): AsyncDisposable {
  const stop = new AbortController();
  const ended = run(stop.signal);
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await ended;
    },
  };
}
