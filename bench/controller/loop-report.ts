/** Loaded into a reconciler (`node --import`): says on SIGUSR2 for how long its event loop was held at most since the last time. */
import { monitorEventLoopDelay } from "node:perf_hooks";

const resolution = 10;
const loop = monitorEventLoopDelay({ resolution });
loop.enable();

process.on("SIGUSR2", () => {
  const longestGapMs = Math.max(0, loop.max / 1e6 - resolution);
  loop.reset();
  process.stderr.write(`${JSON.stringify({ longestGapMs })}\n`);
});
