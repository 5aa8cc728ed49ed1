/** Loaded into a reconciler (`node --import`): says on SIGUSR2 for how long its event loop was held at most since the last time. */
import { LoopWatch } from "./loop-watch.ts";

const loop = new LoopWatch(10);

process.on("SIGUSR2", () => {
  const { longestGapMs, longestTurnMs } = loop.read();
  process.stderr.write(`${JSON.stringify({ longestGapMs, longestTurnMs })}\n`);
});
